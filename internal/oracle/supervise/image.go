package supervise

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/shareddir"
)

// ExamineImage checks which requirements the files of an image in o.Root meet. It executes none of them.
func ExamineImage(o Options) []runfile.Check {
	o = o.withDefaults()
	e, home := &examination{}, o.findHome()
	l := runfile.DirectNFSLibrary{Wanted: true}
	var err error
	switch {
	case home == "":
		err = o.noHome()
	case len(libraries(filepath.Join(home, "lib")))+len(libraries(filepath.Join(home, "rdbms/lib/odm"))) == 0:
		err = noLibrary(home)
	default:
		err = o.checkOradism(home, &l)
	}
	e.judge(checkDirectNFS, err, "possible in %s; oradism is %s", home, l.OradismMode)
	o.examineImage(e, home)
	return e.checks
}

// examineImage checks how the image is started, and describes other requirements of a start.
func (o Options) examineImage(e *examination, home string) {
	e.judge(checkStart, o.checkStart(), "%s", o.startCommand()[0])
	e.judge(checkHealth, o.checkHealth(), "%s", o.healthCommand()[0])
	e.ok(checkImage, "%s", strings.Join(o.describeImage(home), "; "))
}

// describeImage describes the files of the image in a few words each.
func (o Options) describeImage(home string) []string {
	interpreter, script := interpreterOf(o.path(o.startCommand()[0]))
	if script {
		interpreter = "no interpreter"
	}
	facts := []string{"the start command names " + cmp.Or(interpreter, "no interpreter, and is a program")}
	for _, name := range []string{"make", "su"} {
		there := "is there"
		if !strings.Contains(o.program(name), "/") {
			there = "is not there"
		}
		facts = append(facts, name+" "+there)
	}
	for _, dir := range []string{"lib", "rdbms/lib/odm"} {
		var names []string
		for _, l := range libraries(filepath.Join(home, dir)) {
			names = append(names, filepath.Base(l))
		}
		facts = append(facts, dir+" has "+cmp.Or(strings.Join(names, ", "), "no libnfsodm*.so"))
	}
	table := "a file of its own"
	if _, err := os.Lstat(o.MountTable); err != nil {
		table = "not there"
	} else if to, err := os.Readlink(o.MountTable); err == nil {
		table = "a link to " + to
	}
	user := "not known"
	text, _ := shareddir.ReadStart(o.Root+"/etc", "passwd", maxScript)
	if m := regexp.MustCompile(`(?m)^oracle:[^:]*:(\d+:\d+):`).FindStringSubmatch(string(text)); m != nil {
		user = m[1]
	}
	return append(facts, "/etc/mtab is "+table, "user and group of oracle are "+user)
}
