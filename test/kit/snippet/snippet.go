// Package snippet finds the shell blocks of the documents.
package snippet

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"github.com/nfsbench/nfsbench/test/kit/repository"
)

// Snippet is one fenced block of the language sh.
type Snippet struct {
	Where  string // FILE:LINE of the fence
	Text   string
	NotRun string // why no test runs it, from the comment before the fence
}

var fence = regexp.MustCompile("(?ms)(?:^<!-- snippet: ([^>]*) -->\n)?^```sh\n(.*?)^```$")

// Read returns the blocks of all Markdown files below a folder of the repository.
func Read(folder string) ([]Snippet, error) {
	root, err := repository.Path(".")
	if err != nil {
		return nil, err
	}
	out, err := exec.Command("git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", folder).Output()
	if err != nil {
		return nil, err
	}
	var all []Snippet
	for name := range strings.FieldsSeq(string(out)) {
		if !strings.HasSuffix(name, ".md") {
			continue
		}
		raw, err := os.ReadFile(root + "/" + name)
		if err != nil {
			return nil, err
		}
		text := string(raw)
		for _, at := range fence.FindAllStringSubmatchIndex(text, -1) {
			s := Snippet{Where: name + ":" + strconv.Itoa(strings.Count(text[:at[0]], "\n")+1), Text: text[at[4]:at[5]]}
			if at[2] >= 0 {
				s.NotRun = text[at[2]:at[3]]
			}
			all = append(all, s)
		}
	}
	return all, nil
}
