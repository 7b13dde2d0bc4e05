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
			return oracle.Failf(runfile.FailureUnsupported, "the image is made to run as root: %s calls %q, and the container "+
				"runs as the user oracle (54321): use a newer image of Oracle Express or Free", script, clip(call))
		case call != "" && o.noNewPrivileges():
			return oracle.Failf(runfile.FailureDatabaseNotReady, "the start of the image calls %q in %s, and the container runs "+
				"with allowPrivilegeEscalation: false, with which su fails: set database.container.edition to that of the image, "+
				"or let the namespace admit privilege escalation", clip(call), script)
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
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		word, _, _ := strings.Cut(strings.TrimRight(line, ";"), " ")
		switch {
		case strings.HasPrefix(line, "#"):
		case word == "if", len(only) > 0 && (word == "elif" || word == "else"):
			if word != "if" {
				only = only[:len(only)-1]
			}
			asks := ""
			if m := condition.FindStringSubmatch(line); m != nil {
				asks = m[1]
			}
			only = append(only, asks)
		case word == "fi" && len(only) > 0:
			only = only[:len(only)-1]
		default:
			m := call.FindString(line)
			if m != "" && !slices.ContainsFunc(only, func(asks string) bool { return asks != "" && asks != sid }) {
				return m
			}
		}
	}
	return ""
}
