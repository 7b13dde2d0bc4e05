package structure

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// plainCalls of package os follow links, wait for a FIFO, read without a bound, or change what is there.
func plainCalls() []string {
	return []string{
		"Open", "OpenFile", "ReadFile", "Create", "WriteFile", "Chown", "Lchown", "Chmod", "Rename", "Truncate", "Link",
		"Symlink", "CopyFS", "CreateTemp", "DirFS", "OpenRoot", "OpenInRoot", "RemoveAll",
	}
}

// sharing are the files and folders that work in directories which others can write to.
func sharing() []string {
	return []string{
		"internal/collect/*.go", "internal/collect/publish/*.go", "internal/runloop/*.go", "internal/loadgen/fileset/*.go",
		"internal/loadgen/target/kernel/*.go", "internal/oracle/supervise/*.go", "internal/oracle/program/*.go",
		"internal/oracle/run/*.go", "cmd/nfsbench/*.go",
	}
}

// notShared says where a plain call is right, by file and function, and why.
func notShared() map[string]string {
	return map[string]string{
		"cmd/nfsbench/cmd_database.go wordsIn":                   "files of Secrets, in the container of the image",
		"cmd/nfsbench/cmd_load.go readFlagFile":                  "the user names the file, which may be a pipe",
		"cmd/nfsbench/cmd_load.go writeAnswers":                  "/dev/termination-log, which the kubelet makes",
		"cmd/nfsbench/cmd_survey.go saysMount":                   "/dev/termination-log, which the kubelet makes",
		"internal/collect/publish/configmap.go inCluster":        "the kubelet mounts the token, over links",
		"internal/collect/session.go Start":                      "/proc and /sys of the kernel",
		"internal/loadgen/target/kernel/kernel.go open":          "the mount itself; names in it are opened by shareddir",
		"internal/oracle/program/program.go read":                "the kubelet mounts the plan, over links",
		"internal/oracle/program/program.go readSecret":          "the kubelet mounts the Secret, over links",
		"internal/oracle/program/program.go run":                 "/proc and /sys of the kernel",
		"internal/oracle/run/kit.go checkKit":                    "the kit of the user, in a container of the image of the user",
		"internal/oracle/run/kit.go copyKitTo":                   "the kit of the user, in a container of the image of the user",
		"internal/oracle/run/kit.go logged":                      "a copy of the kit, in a folder of the loader alone",
		"internal/oracle/run/kit.go readReport":                  "a copy of the kit, in a folder of the loader alone",
		"internal/oracle/run/kit.go remove":                      "a copy of the kit, in a folder of the loader alone",
		"internal/oracle/run/kit.go runKit":                      "a copy of the kit, in a folder of the loader alone",
		"internal/oracle/supervise/directnfs.go Install":         "a file of the image, which may be a link",
		"internal/oracle/supervise/marker.go readMarker":         "a new file of a name that nobody knows",
		"internal/oracle/supervise/mounttable.go readMountTable": "/etc/mtab is a link in most images",
		"internal/oracle/supervise/options.go checkKit":          "the kit of the user, in a container of the image of the user",
		"internal/oracle/supervise/options.go interpreterOf":     "a file of the image, which may be a link",
		"internal/oracle/supervise/volume.go checkVolume":        "a new file of a name that nobody knows",
	}
}

// TestDirectoriesThatOthersShareAreUsedByOnePackage: a link in them leads to a file of ours, and a FIFO hangs whoever
// opens it.
func TestDirectoriesThatOthersShareAreUsedByOnePackage(t *testing.T) {
	unused := notShared()
	for _, pattern := range sharing() {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for function, calls := range plainCallsOf(file) {
				where := name + " " + function
				if notShared()[where] == "" {
					t.Errorf("%s uses os.%s: use package shareddir, or give a reason in notShared", where, strings.Join(calls, ", os."))
				}
				delete(unused, where)
			}
		}
	}
	for where := range unused {
		t.Errorf("%s has a reason and needs none", where)
	}
}

// plainCallsOf returns the plain calls of a file by function; "" is the rest of the file.
func plainCallsOf(file *ast.File) map[string][]string {
	found := map[string][]string{}
	for _, d := range file.Decls {
		function := ""
		if f, ok := d.(*ast.FuncDecl); ok {
			function = f.Name.Name
		}
		ast.Inspect(d, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if pkg, ok := s.X.(*ast.Ident); ok && pkg.Name == "os" && slices.Contains(plainCalls(), s.Sel.Name) {
				found[function] = append(found[function], s.Sel.Name)
			}
			return true
		})
	}
	return found
}
