#!/usr/bin/env bash
# Show what the tests run with, and until when its makers support it. hack/platforms.tsv has the facts.
#
# usage: hack/platforms.sh            a table
#        hack/platforms.sh --newer    and what the module proxy has that is newer
#        hack/platforms.sh markdown   the table of README.md
#
# No date lets it fail, and no proxy that does not answer: it says so. A file that it cannot read does.
#
# PLATFORMS=FILE   another file
# TODAY=DATE       another day
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source hack/lib/common.sh

file=${PLATFORMS:-hack/platforms.tsv}
today=${TODAY:-$(date -u +%F)}

# check prints the rows of the file, or says what is wrong with it.
check() {
	[[ -r $file ]] || die "there is no file $file"
	awk -F '\t' -v file="$file" '
		function wrong(why) { printf "error: %s:%d: %s\n", file, FNR, why > "/dev/stderr"; bad = 1; exit 1 }
		/^#/ { next }
		NF != 6 { wrong(NF " columns, not 6: component, version, module, pin, end, move") }
		{ for (i = 1; i <= NF; i++) if ($i ~ /^ | $/) wrong("column " i " begins or ends with a space") }
		$1 == "" || $4 == "" || $6 == "" { wrong("the component, the pin or the move is empty") }
		$2 !~ /^[a-z0-9][a-z0-9.-]*$/ { wrong("\"" $2 "\" is no version") }
		$3 != "" && ($3 !~ /^[a-z0-9.]+\.[a-z]+\/[^ ]+$/ || $2 !~ /^[0-9]+\.[0-9]+\.[0-9]+$/) {
			wrong("\"" $3 "\" " $2 " is no version of a Go module")
		}
		$5 != "unknown" && $5 !~ /^20[0-9][0-9]-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$/ {
			wrong("the end of support is \"" $5 "\": write an ISO date, or unknown")
		}
		seen[$1, $2]++ { wrong("a second row of " $1 " " $2) }
		{ print; n++ }
		END { if (!bad && !n) wrong("there is no row") }
	' "$file"
}

# support END says in words what an end of support means today.
support() {
	local days
	[[ $1 != unknown ]] || { echo unknown; return; }
	days=$((($(date -ud "$1" +%s) - $(date -ud "$today" +%s)) / 86400))
	if ((days < 0)); then echo "ended $1"
	elif ((days <= 90)); then echo "ends in $days days, on $1"
	else echo "supported until $1"; fi
}

# newer MODULE VERSION names the newest patch of the minor, and the newest version of each newer one.
newer() {
	local versions
	# Outside of our module, the go command asks for nothing else.
	versions=$(cd / && timeout 30 go list -m -versions "$1" 2>/dev/null | tr ' ' '\n' |
		sed -nE 's/^v([0-9]+\.[0-9]+\.[0-9]+)$/\1/p' | sort -V) ||
		{ echo "the module proxy does not answer"; return; }
	awk -v have="$2" '
		function minor(v, p) { split(v, p, "."); return p[1] "." p[2] }
		$0 == have { after = 1; next }
		after || found(have, $0) { if (!(minor($0) in last)) order[++n] = minor($0); last[minor($0)] = $0 }
		function found(a, b, p, q, i) {
			split(a, p, "."); split(b, q, ".")
			for (i = 1; i <= 3; i++) if (p[i] + 0 != q[i] + 0) return p[i] + 0 < q[i] + 0
			return 0
		}
		END {
			for (i = 1; i <= n; i++) out = out (out == "" ? "" : ", ") last[order[i]]
			print out == "" ? "none" : out
		}' <<<"$versions"
}

table() {
	local rows component version module pin end move line
	rows=$(check)
	{
		printf 'COMPONENT\tTESTED\tEND OF SUPPORT%s\n' "${1:+$'\t'NEWER}"
		# read would take two tabs for one
		while IFS='|' read -r component version module pin end move; do
			line="$component"$'\t'"$version"$'\t'"$(support "$end")"
			if [[ -n ${1:-} ]]; then line+=$'\t'$([[ -n $module ]] && newer "$module" "$version" || echo "not a module: $move"); fi
			printf '%s\n' "$line"
		done < <(tr '\t' '|' <<<"$rows")
	} | column -t -s $'\t'
}

# markdown prints one line for each component that users install beside nfsbench.
markdown() {
	local rows
	rows=$(check)
	awk -F '\t' '
		BEGIN {
			split("Kubernetes,Helm,Argo Workflows,Argo CD,Flux source-controller,Trident (stand-in)", shown, ",")
			print "| Tested with | version | end of support |\n|---|---|---|"
		}
		{ versions[$1] = versions[$1] sep[$1] $2; ends[$1] = ends[$1] sep[$1] $5; sep[$1] = ", " }
		$5 != "unknown" { known[$1] = 1 }
		END {
			for (i = 1; i in shown; i++) {
				c = shown[i]
				if (c in versions) printf "| %s | %s | %s |\n", c, versions[c], known[c] ? ends[c] : "unknown"
			}
		}' <<<"$rows"
}

case ${1:-} in
-h | --help) help_of hack/platforms.sh ;;
'') table ;;
--newer) table newer ;;
markdown) markdown ;;
*) die "unknown argument $1; see hack/platforms.sh --help" ;;
esac
