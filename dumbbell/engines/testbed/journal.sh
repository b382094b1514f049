# Makes changes to this machine that are undone when stdin ends; `journal.py` writes what it reads and reads what it writes.
# Fed to `sh -s`, whose stdin then has a request on each line; the first is sent when this says `ready`. Arguments:
#   run FOLDER SECONDS      claims the machine; ends, and undoes, after SECONDS without a request, too
#   recover FOLDER          undoes what a session has left that did not come to it
# Words end with US, the parts of a change are separated by GS, changes by RS: words are split there, and nowhere taken for shell.
PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH
LC_ALL=C
export PATH LC_ALL
# Whoever listens may be gone, and undoing goes on.
trap '' PIPE HUP
set -f
rs=$(printf '\036') gs=$(printf '\035') us=$(printf '\037') blanks=$IFS

# What is answered is one line.
say() { printf '%s\n' "$(printf '%s' "$*" | tr '\n' ' ')"; }

# Runs the program of a list of words. Its output is $said.
perform() {
	IFS=$us
	set -- $1
	IFS=$blanks
	said=$(command "$@" 2>&1 </dev/null 9>&-)
}

# The parts of a change: a program that succeeds if what would be made is there already, the undo, and the change; the first two may be
# empty.
part() {
	IFS=$gs
	set -- $1
	IFS=$blanks
	unless=$1 undo=$2 do=$3
}

# Appends undos; the full stop shows that a line is whole.
remember() {
	for each; do
		part "$each"
		if [ -n "$undo" ]; then printf '%s.\n' "$undo"; fi || return
	done >>"$folder/journal" && sync "$folder/journal"
}

# Nothing is made before it is known that none is there, and all undos are on the disk: one look and one wait for all.
changes() {
	count=0
	IFS=$rs
	set -- $1
	IFS=$blanks
	for each; do
		part "$each"
		if [ -n "$unless" ] && perform "$unless"; then
			say "failed$us$count${us}it is there already"
			return
		fi
		count=$((count + 1))
	done
	if ! said=$(remember "$@" 2>&1); then
		say "failed${us}0${us}the journal cannot be written: $said"
		return
	fi
	count=0
	for each; do
		part "$each"
		if ! perform "$do"; then
			say "failed$us$count$us${said:-it failed}"
			return
		fi
		count=$((count + 1))
	done
	say "done$us$count"
}

# Whether an undo failed because there was nothing to undo.
was_gone() {
	case $said in
	*"Cannot find device"* | *"No such device"* | *"No such process"* | *"No such file or directory"* | *"irectory nonexistent"* | \
		*"Cannot find specified qdisc"* | *"Invalid handle"* | *"handle of zero"* | *"Cannot assign requested address"*) return 0 ;;
	esac
	return 1
}

# From the last to the first. All stay in the journal until each has come to it, as one may undo what an earlier one has set.
undo() {
	count=0 left=
	if [ -s "$folder/journal" ]; then
		while IFS= read -r line; do
			case $line in *"$us.") ;; *) continue ;; esac
			if perform "${line%.}" || was_gone; then count=$((count + 1)); else left="$left$us$(printf '%s' "${line%.}" | tr '\037' ' '): $said"; fi
		done <<END
$(sed '1!G;h;$!d' "$folder/journal")
END
	fi
	if [ -n "$left" ]; then
		say "left$left"
		return 1
	fi
	rm -f "$folder/journal" "$folder/session.json"
	say "undone$us$count"
}

# The next request; fails at the end of stdin, and after too long a silence.
receive() { line=$(timeout "$1" sh -c 'IFS= read -r line && printf "%s" "$line"' 9>&-); }

main() {
	mode=$1 folder=$2
	if ! said=$(umask 022 && mkdir -p "$folder" 2>&1 && : 2>&1 >>"$folder/lock"); then
		say "failed${us}0$us${said:-$folder/lock cannot be written}"
		exit 1
	fi
	exec 9>>"$folder/lock"
	if ! flock -n 9; then
		say "busy$us$(cat "$folder/session.json" 2>&1)"
		exit 1
	fi
	if [ "$mode" = recover ]; then
		undo
		exit
	fi
	if [ -s "$folder/journal" ]; then
		say "leftover$us$(wc -l <"$folder/journal")$us$(cat "$folder/session.json" 2>&1)"
		exit 1
	fi
	say ready
	while receive "$3"; do
		case $line in
		claim*) printf '%s\n' "${line#claim}" >"$folder/session.json" && say "done${us}0" ;;
		change*) changes "${line#change}" ;;
		esac
	done
	undo
	exit
}

main "$@"
