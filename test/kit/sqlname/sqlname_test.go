package sqlname

import "testing"

func TestTheNameIsThatOfTheFirstComment(t *testing.T) {
	for text, want := range map[string]string{
		"/* nfsbench sysstat */\nSELECT": "sysstat", " \n/* nfsbench a_1 */": "a_1", "/* nfsbench A */": "", "SELECT /* nfsbench a */": "", "": "",
	} {
		if got, ok := Of(text); got != want || ok != (want != "") {
			t.Errorf("%q is named %q, %v", text, got, ok)
		}
	}
}
