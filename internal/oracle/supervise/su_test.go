package supervise

import (
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
	const root = "#!/bin/bash\nstatus=`su -p oracle -c \"sqlplus -s / as sysdba\" << EOF\n"
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
