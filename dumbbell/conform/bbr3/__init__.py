"""The 22 test cases of draft-ietf-ccwg-bbr-06, Appendix "BBR Example Test Cases", as scenarios.

The draft gives prose and few numbers. The paths, and the tolerances of the criteria, are dumbbell's. B02, B04, B06, B07, B14, B18 and B19
follow the draft's pseudocode where its appendix says something else; docs/conform.md lists these places.
"""

from dumbbell.conform.bbr3 import cycle, links, losses, rtt, startup

SOURCE = "draft-ietf-ccwg-bbr-06, Appendix BBR Example Test Cases"
CASES = tuple(sorted((*startup.CASES, *cycle.CASES, *rtt.CASES, *links.CASES, *losses.CASES), key=lambda case: case.name))
