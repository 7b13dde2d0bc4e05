package repository

import (
	"os"
	"strings"
	"testing"
)

func TestAFileIsFoundFromEverywhereInTheRepository(t *testing.T) {
	for _, folder := range []string{".", "..", "../../lab/gitops", "../.."} {
		t.Run(folder, func(t *testing.T) {
			t.Chdir(folder)
			path, err := Path("test/kit/repository/repository.go")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(path); err != nil {
				t.Error(err)
			}
		})
	}
	t.Chdir(t.TempDir())
	if path, err := Path("go.mod"); err == nil || !strings.Contains(err.Error(), "is not in the repository") {
		t.Errorf("outside it is %q, %v", path, err)
	}
}
