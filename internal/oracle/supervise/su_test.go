package supervise

import (
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// sharedScript calls su for one edition only, as scripts that several editions share.
const sharedScript = `#!/bin/bash
# Call relink before
if [ "${ORACLE_SID}" != "XE" ]; then
   source relink
fi;
if [ -f x ] && [ -d y ]; then
   links;
   if [ "${ORACLE_SID}" = "XE" ]; then
      su -c '/etc/init.d/oracle-xe-21c start'
   else
      start
   fi
fi;
`

// TestAnImageThatCallsSuNeedsPrivilegeEscalation, and one that is made for root does not start at all.
func TestAnImageThatCallsSuNeedsPrivilegeEscalation(t *testing.T) {
	t.Parallel()
	const root = "#!/bin/bash\nstatus=`su -p oracle -c \"sqlplus -s / as sysdba\" << EOF\nexit;\nEOF`\n"
	cases := map[string]struct {
		file, text, sid string
		noEscalation    bool
		code            string
	}{
		"Express, without":                {"runOracle.sh.orig", sharedScript, "XE", true, runfile.FailureDatabaseNotReady},
		"Express, in small letters":       {"runOracle.sh.orig", sharedScript, "xe", true, runfile.FailureDatabaseNotReady},
		"Express, with":                   {"runOracle.sh.orig", sharedScript, "XE", false, ""},
		"Enterprise with the same script": {"runOracle.sh.orig", sharedScript, "ORCLCDB", true, ""},
		"in the creation":                 {"createDB.sh", "#!/bin/bash\nsu -c \"sed -i x\"\n", "FREE", true, runfile.FailureDatabaseNotReady},
		"in the other branch":             {"createDB.sh", "if [ \"$ORACLE_SID\" = \"XE\" ]; then\n x\nelse\n su -c y\nfi\n", "FREE", true, runfile.FailureDatabaseNotReady},
		"in a comment":                    {"createDB.sh", "#!/bin/bash\n# su -c \"sed -i x\"\n", "FREE", true, ""},
		"root only":                       {"createDB.sh", "if [ $X = root ]; then\n su oracle -c x\nfi\n", "XE", true, ""},
		"made for root":                   {"checkDBStatus.sh.old", root, "XE", false, runfile.FailureUnsupported},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newImage(t)
			i.o.SID = tc.sid
			i.write(i.base+"/"+tc.file, 0o755, tc.text)
			if tc.noEscalation {
				i.proc("self/status", "Name:\tx\nNoNewPrivs:\t1\n")
			}
			if tc.code == "" {
				expect(t, Examine(t.Context(), i.o), checkStart, runfile.CheckOK)
				i.start().ready(1)
				return
			}
			f := i.fails(tc.code)
			expect(t, Examine(t.Context(), i.o), checkStart, runfile.CheckFail, f.Message)
			i.started(0)
		})
	}
}

// TestSuIsFoundHoweverItIsCalled, and only where it is executed.
func TestSuIsFoundHoweverItIsCalled(t *testing.T) {
	t.Parallel()
	const nobody, express, others, all = "", "XE", "ORCLCDB", "XE ORCLCDB"
	for text, want := range map[string]string{
		"su root -c '/etc/init.d/x start'":   all,
		"su oracle -c x":                     all,
		"su  -c x":                           all,
		"/usr/bin/su --command=x":            all,
		"sudo /etc/init.d/x start":           all,
		"exec runuser -u oracle -- x":        all,
		"x=$(su -c y)":                       all,
		"echo exit | su -c y":                all,
		"f() {\n su -c y\n}\nf":              all,
		"status=`su -c \"x\" << EOF\nexit\n": all,
		"# su -c x\necho su -c x\necho 'su -c x'\ncommand -v sudo\nsum -c x\n cat <<EOF\nsu -c x\nEOF": nobody,
		`if [ "$ORACLE_SID" = "ORCLCDB" ]; then x; fi` + "\nsu -c y":                                   all,
		`if [ "$ORACLE_SID" = "XE" ]; then su -c y; fi`:                                                express,
		"if [ \"${ORACLE_SID}\" = 'XE' ]; then\n su -c x\nfi":                                          express,
		"if [[ $ORACLE_SID == XE ]]; then\n su -c x\nfi":                                               express,
		"if [ \"${ORACLE_SID}\" != \"XE\" ]; then\n start\nelse\n su -c x\nfi":                         express,
		"if ! [ x$ORACLE_SID = xXE ]; then\n start\nelse\n su -c x\nfi":                                express,
		"if [ ! $ORACLE_SID = XE ]; then start; else su -c x; fi":                                      express,
		"if [ $ORACLE_SID = FREE ]; then a; elif [ $ORACLE_SID = XE ]; then su -c x; fi":               express,
		"if [ -f x ] && [ $ORACLE_SID = XE ]; then su -c x; fi":                                        express,
		"if [[ $ORACLE_SID = XE || $ORACLE_SID = FREE ]]; then su -c x; fi":                            express,
		"[ $ORACLE_SID = XE ] && su -c x":                                                              express,
		"test $ORACLE_SID != XE || su -c x":                                                            express,
		"if [ $ORACLE_SID != XE ]; then su -c x; fi":                                                   others,
		"if [ -f x ]; then su -c x; fi":                                                                all,
		"if [ $EDITION = XE ]; then su -c x; fi":                                                       all,
		"case $ORACLE_SID in XE) su -c x;; esac":                                                       express,
		"case $ORACLE_SID in XE|FREE) x;; *) su -c x;; esac":                                           others,
		"case $1 in start) su -c x;; esac":                                                             all,
		"[ $ORACLE_SID = XE -a -f x ] && su -c x":                                                      express,
		"if [ -f x -a $ORACLE_SID != XE ]; then su -c x; fi":                                           others,
		"[ $ORACLE_SID = XE -o -f x ] && su -c x":                                                      all,
		"while [ -f x ]; do su -c x; done":                                                             all,
		`\su -c x`:                                                                                     all,
		`"su" -c x`:                                                                                    all,
		"echo x | xargs su -c x":                                                                       all,
		"exec cat <(x)":                                                                                nobody,
		"x\nexit 0\nsu -c x":                                                                           nobody,
		"exec x\nsu -c x":                                                                              nobody,
		"if [ $ORACLE_SID != XE ]; then x; exit; fi; su -c x":                                          express,
		"[ $ORACLE_SID = XE ] || exit 1\nsu -c x":                                                      express,
		"[ -f x ] || exit 1\nsu -c x":                                                                  all,
		"exec >log\nexec 3<&0\nsu -c x":                                                                all,
		"(exit 1)\nx=$(exit 1)\nexit 1 | y\nz | exit\ncat <(exit)\nsu -c x":                            all,
		"f() { exit; }\nsu -c x":                                                                       all,
		"for i in $X; do exit; done\nsu -c x":                                                          all,
		"while x; do exit; done\nsu -c x":                                                              all,
		"trap 'exit' TERM\nsu -c x":                                                                    all,
		"if [ $(id -u) -eq 0 ]; then exec su oracle -c x; fi":                                          nobody,
		"[ $(whoami) = root ] && su -c x":                                                              nobody,
		`if [ "$(id -un)" != root ]; then su -c x; fi`:                                                 all,
		"[[ $EUID -ne 0 ]] && sudo x":                                                                  all,
	} {
		var found []string
		for _, sid := range []string{"XE", "ORCLCDB"} {
			if len(suCalls(text, sid)) > 0 {
				found = append(found, sid)
			}
		}
		if got := strings.Join(found, " "); got != want {
			t.Errorf("%q is found for %q, want %q", text, got, want)
		}
	}
	for text, certain := range map[string]bool{
		"su oracle -c x": true, `\su oracle -c x`: true, "if [ $ORACLE_SID = XE ]; then su oracle; fi": true,
		"case $ORACLE_SID in *) su oracle;; esac": true, "if [ $(whoami) = oracle ]; then su oracle; fi": true,
		`if [ "$USER" = root ]; then su oracle; fi`: false, "if (( EUID == 0 )); then su oracle; fi": false,
		"if [ $(id -u) -gt 0 ]; then :; else su oracle -c x; fi": false, "f() { su oracle; }": false,
		"while x; do su oracle; done": false, "case $1 in x) su oracle;; esac": false, "x && su oracle": false,
		"x; if y; then z; fi; su oracle": true, "[ -f x ] || exit; su oracle": true, "f() { exit; }; su oracle": true,
	} {
		if calls := suCalls(text, "XE"); len(calls) != 1 || calls[0].certain != certain || !forRoot(calls[0].text) {
			t.Errorf("%q: %+v, want certain %t", text, calls, certain)
		}
	}
	for call, root := range map[string]bool{
		"su -p oracle -c x": true, "su - oracle -c x": true, "su oracle": true, "/sbin/runuser -u x": true,
		"su -c '/etc/init.d/oracle start'": false, "su root -c oracle": false, "sudo -u oracle x": false,
	} {
		if forRoot(call) != root {
			t.Errorf("%q is for root: %t", call, !root)
		}
	}
}
