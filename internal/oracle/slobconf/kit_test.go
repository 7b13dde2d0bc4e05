package slobconf

import (
	"io/fs"
	"maps"
	"strings"
	"testing"
	"testing/fstest"
)

func TestAKitThatCannotRunIsFound(t *testing.T) {
	t.Parallel()
	conf := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte("SCALE=80M\n" + text)} }
	program := func(mode fs.FileMode) *fstest.MapFile { return &fstest.MapFile{Mode: mode} }
	for name, c := range map[string]struct {
		change   fstest.MapFS // a file that is nil is not there
		services int
		want     string
	}{
		"complete":         {nil, 1, ""},
		"no runit.sh":      {fstest.MapFS{"runit.sh": nil}, 1, "must hold runit.sh"},
		"no slob.conf":     {fstest.MapFS{"slob.conf": nil}, 1, "must hold slob.conf"},
		"not compiled":     {fstest.MapFS{"mywait": nil}, 1, "the program mywait: compile it with make in wait_kit"},
		"not executable":   {fstest.MapFS{"trigger": program(0o600)}, 1, "the program trigger: compile it"},
		"services":         {nil, 2, "services has 2 entries"},
		"no number":        {fstest.MapFS{"slob.conf": conf("SQLNET_SERVICE_BASE=rac\n")}, 2, "SQLNET_SERVICE_MAX"},
		"number 0":         {fstest.MapFS{"slob.conf": conf("SQLNET_SERVICE_BASE=rac\nSQLNET_SERVICE_MAX=0\n")}, 2, "SQLNET_SERVICE_MAX"},
		"no base":          {fstest.MapFS{"slob.conf": conf("SQLNET_SERVICE_MAX=2\n")}, 2, "SQLNET_SERVICE_BASE"},
		"services of SLOB": {fstest.MapFS{"slob.conf": conf("SQLNET_SERVICE_BASE=rac\nSQLNET_SERVICE_MAX=2\n")}, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kit := fstest.MapFS{"runit.sh": conf(""), "slob.conf": conf(""), "mywait": program(0o700), "trigger": program(0o700)}
			maps.Copy(kit, c.change)
			maps.DeleteFunc(kit, func(_ string, f *fstest.MapFile) bool { return f == nil })
			switch err := CheckKit(kit, c.services); {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v; want %q", err, c.want)
			}
		})
	}
}
