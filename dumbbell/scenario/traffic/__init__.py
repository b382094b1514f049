"""Traffic that is not bulk, one kind a file. The catalogue has the kinds, and `scenario.generated.kinds` lists their classes."""
