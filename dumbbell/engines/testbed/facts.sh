# Says what this machine is, in named sections; `facts_reading.py` reads them. Fed to `sh -s`, so that nothing in it passes a login shell.
# Arguments: dev:NAME for each data device, to:ADDRESS for each address whose route is asked for, `all` for what does not change as well.
# Starts few programs, and reads long files by one of them: both are what takes the time in a guest.
# Changes nothing: what has to be tried is tried on `lo` of a network namespace without a name, which is gone with the process in it,
# however that ends. Lists that the controller knows (PROBE_TC, PROBE_IP) are set by lines in front of this one.
PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH
LC_ALL=C
export PATH LC_ALL

# A section: its name, what a command says, and its status.
say() {
	printf '\036%s\n' "$1"
	shift
	"$@" </dev/null 2>/dev/null
	printf '\035%d\n' $?
}

# The lines of a short file, without starting a program.
show() {
	[ -r "$1" ] || return
	while IFS= read -r line || [ -n "$line" ]; do printf '%s\n' "$line"; done <"$1"
}

first() { IFS= read -r line <"$1" && printf '%s\n' "$line"; }

# Lines `file:value`; a file that cannot be read is left out.
values() { grep -sH '' "$@" || test $? -le 2; }

tools() {
	for tool in ip tc ethtool nft chronyc flock sync unshare timeout sha256sum tar gzip tcpdump iperf3 vsftpd curl sudo; do command -v "$tool"; done
	true
}

# The kernel's configuration, as far as it decides how traffic goes.
configuration() { zcat /proc/config.gz | grep -E '^CONFIG_(HZ|PREEMPT|NO_HZ|HIGH_RES|TCP_CONG|DEFAULT_TCP|NET_SCH|NET_CLS|NET_ACT|LOCALVERSION)'; }

# Number of the device and of the inode, as in /proc/locks, which shows the locks of a process that has ended (flock) only outside of
# containers.
lock() { [ -e /run/dumbbell/lock ] && stat -c '%D %i' /run/dumbbell/lock && show /proc/locks; }

namespaces() { for each in /run/netns/*; do if [ -e "$each" ]; then printf '%s\n' "${each#/run/netns/}"; fi; done; }

# Without root a namespace is one of a user's, where no module can be loaded.
probe() {
	command -v tc >/dev/null && unshare "$1" sh -c 'ip link set dev lo up || exit
		printf "%s\n" "$1" | tc -force -batch - 2>&1
		printf "\034\n"
		printf "%s\n" "$2" | ip -force -batch - 2>&1
		true' probe "$PROBE_TC" "$PROBE_IP"
}

network() { printf '%s\n' "$1" | ip -force -d -s -j -batch -; true; }

user=$(id -u)
asked='addr show
route show table all'
if [ -n "$SSH_CONNECTION" ]; then asked="$asked
route get ${SSH_CONNECTION%% *}"; fi
all=
for word; do
	case $word in
	all) all=yes ;;
	to:*) asked="$asked
route get ${word#to:}" ;;
	esac
done
if [ -n "$all" ]; then
	# First, since it loads modules, whose parameters and names are then shown.
	how=-rn
	if [ "$user" = 0 ]; then how=-n; fi
	say probe probe "$how"
	say config configuration
fi
say user printf '%s\n' "$user"
say system uname -srm
say version show /proc/version
say tools tools
say load first /proc/loadavg
say ticks first /proc/stat
say chrony chronyc -c tracking
say values values /proc/sys/net/ipv4/tcp_* /proc/sys/net/ipv4/ip_forward /proc/sys/net/ipv4/conf/*/rp_filter \
	/proc/sys/net/ipv4/conf/*/send_redirects /proc/sys/net/core/rmem_* /proc/sys/net/core/wmem_* /proc/sys/net/core/txrehash \
	/proc/sys/net/core/default_qdisc /proc/sys/net/core/netdev_budget* /proc/sys/net/core/netdev_max_backlog \
	/proc/sys/kernel/sched_rt_runtime_us /proc/sys/kernel/random/boot_id /proc/sys/net/netfilter/nf_conntrack_count \
	/sys/module/tcp_*/parameters/* /sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor \
	/sys/devices/system/clocksource/clocksource0/current_clocksource /sys/class/net/*/speed /sys/class/net/*/duplex \
	/proc/self/status /proc/cpuinfo /proc/meminfo /proc/net/tcp /proc/net/udp /proc/net/tcp6 /proc/net/udp6 /proc/net/ip_tables_names
say network network "$asked"
say neighbours show /proc/net/arp
qdiscs=$(tc -j qdisc show)
say qdiscs printf '%s\n' "$qdiscs"
say firewall nft -j list ruleset
say session show /run/dumbbell/session.json
say journal show /run/dumbbell/journal
say lock lock
say namespaces namespaces
say space df -Pk /run
say mounts grep -E ' (/|/run|/run/dumbbell) ' /proc/mounts
say controller printf '%s\n' "${SSH_CONNECTION%% *}"
for word; do
	device=${word#dev:}
	if [ "$word" = "$device" ]; then continue; fi
	say "features $device" ethtool -k "$device"
	say "coalescing $device" ethtool -c "$device"
	say "statistics $device" ethtool -S "$device"
	if [ -n "$all" ]; then
		driver=$(ethtool -i "$device")
		say "driver $device" printf '%s\n' "$driver"
		# A kernel of User-Mode Linux crashes when it is asked for the rings of a device that has none (vector_get_ringparam, 6.12).
		case $driver in
		*uml-vector*) ;;
		*) say "rings $device" ethtool -g "$device" ;;
		esac
		say "pause $device" ethtool -a "$device"
		say "timestamping $device" ethtool -T "$device"
	fi
	# Nowhere else are filters of these kinds.
	case $qdiscs in
	*clsact* | *ingress*)
		say "ingress $device" tc -j filter show dev "$device" ingress
		say "egress $device" tc -j filter show dev "$device" egress
		;;
	esac
done
say end true
