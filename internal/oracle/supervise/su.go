package supervise

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

const maxScript = 256 << 10

// checkSu refuses an image whose start calls su where that cannot work: su asks for a password then,
// and a creation of minutes ends without a database.
func (o Options) checkSu() error {
	scripts, _ := filepath.Glob(filepath.Join(o.base(), "*.sh*")) // none with a bad pattern
	scripts = append(scripts, o.startCommand()[0])
	slices.Sort(scripts)
	for _, script := range slices.Compact(scripts) {
		text, err := readPlain(script, maxScript)
		if err != nil {
			continue // a link to a program, or gone
		}
		switch call := suCall(string(text), o.imageSID()); {
		case strings.HasPrefix(call, "su -p oracle"):
			return oracle.Failf(runfile.FailureUnsupported, "the image is made to run as root: %s calls %q, and the "+
				"container runs as the user oracle (54321): use a newer image of Oracle Express or Free", script, clip(call))
		case call != "" && o.noNewPrivileges():
			return oracle.Failf(runfile.FailureDatabaseNotReady, "the start of the image calls %q in %s, and the container "+
				"runs with allowPrivilegeEscalation: false, with which su fails: set database.container.edition to that of the "+
				"image, or let the namespace admit privilege escalation", clip(call), script)
		}
	}
	return nil
}

// suCall is the first call of su in a script that an image with this SID executes; empty where there
// is none. Scripts that several editions share call it only for one SID.
func suCall(text, sid string) string {
	condition := regexp.MustCompile(`ORACLE_SID\}?"?\s*==?\s*"(\w+)"`)
	call := regexp.MustCompile(`\bsu -.*`)
	var only []string // for each open if, the SID that it asks for; empty = another condition
	asks := func(line string) string { return append(condition.FindStringSubmatch(line), "", "")[1] }
	isOther := func(asked string) bool { return asked != "" && asked != sid }
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		word, _, _ := strings.Cut(strings.TrimRight(line, ";"), " ")
		m := call.FindString(line)
		switch last := len(only) - 1; {
		case word == "if":
			only = append(only, asks(line))
		case word == "fi" && last >= 0:
			only = only[:last]
		case (word == "elif" || word == "else") && last >= 0:
			only[last] = asks(line)
		case m != "" && !strings.HasPrefix(line, "#") && !slices.ContainsFunc(only, isOther):
			return m
		}
	}
	return ""
}
