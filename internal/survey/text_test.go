package survey

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

//nolint:dupword // columns with the same word
func TestASurveyIsShownToPeople(t *testing.T) {
	t.Parallel()
	yes, no := new(true), new(false)
	s := runfile.Survey{
		Array: "ONTAP 9.14.1, cluster c1, SVM s1", Time: time.Unix(0, 0), ClockOffsetMilliseconds: new(int64(-12)), Clients: []string{"10.244.0.5", "192.168.0.7"},
		Nodes: []runfile.SurveyNode{{Name: "n1", Model: "FAS3170", Up: yes}, {Name: "n2"}},
		LIFs: []runfile.LIF{
			{Name: "lif_a", Address: "10.0.1.61", Prefix: 24, Node: "n1", HomeNode: "n1", AtHome: yes, Up: yes},
			{Name: "lif_b", Address: "10.0.2.61", Prefix: 24, Node: "n2", HomeNode: "n1", AtHome: no, Up: yes},
			{Name: "lif\x1b[2J_c", Address: "10.0.3.61", Up: no},
		},
		Volume:  &runfile.SurveyVolume{Name: "data", Export: "/vol/data", Aggregate: "aggr1", Node: "n1", State: "online", SizeBytes: new(int64(1 << 40)), QoS: &runfile.QoS{Policy: "gold", MaxIOPS: new(int64(5000))}},
		NFS:     &runfile.NFSService{Enabled: yes, V3: yes, V41: no, TransferSizeBytes: new(int64(65536))},
		Rules:   []runfile.ExportRule{{Index: 1, Clients: []string{"10.0.0.0/8", "@hosts"}, ReadOnly: []string{"sys"}, ReadWrite: []string{"never"}}},
		Missing: []runfile.MissingFact{{What: "CPU of the nodes", Why: "403", Fix: "security login rest-role create"}},
		Move:    &runfile.VolumeMove{From: "aggr2", To: "aggr1", Seconds: 340.4, Percent: 100},
	}
	const want = `array     ONTAP 9.14.1, cluster c1, SVM s1
clock     -12 ms against ours
moved     from aggr2 to aggr1, 100 %, 340 s
volume    data on aggregate aggr1, owned by node n1
export    /vol/data, policy -, -, online, 1 TiB, size not known free
qos       policy gold, at most 5000 IOPS
nfs       service enabled; v3 yes, v4.0 not known, v4.1 no, pNFS not known; transfer size 64 KiB
asked as  10.244.0.5, 192.168.0.7

LIF       ADDRESS      NODE HOME STATE           VOLUME
lif_a     10.0.1.61/24 n1   n1   up              local
lif_b     10.0.2.61/24 n2   n1   up, not at home remote
lif?[2J_c 10.0.3.61    -    -    down            -

NODE MODEL   STATE
n1   FAS3170 up
n2   -       not known

RULE CLIENTS           PROTOCOLS READ WRITE SUPERUSER
1    10.0.0.0/8,@hosts -         sys  never -

Not known: CPU of the nodes: 403. To mend it: security login rest-role create
`
	var out strings.Builder
	if err := Text(&out, s); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	out.Reset()
	s.Rules = []runfile.ExportRule{}
	if err := Text(&out, s); err != nil || !regexp.MustCompile(`(?m)^none +nobody`).MatchString(out.String()) {
		t.Errorf("a policy without rules is shown as %q, %v", out.String(), err)
	}
	out.Reset()
	if err := Text(&out, runfile.Survey{Problem: &runfile.SurveyProblem{Reason: "ArrayRefused", Message: "wrong password"}}); err != nil || out.String() != "no survey ArrayRefused: wrong password\n" {
		t.Errorf("a problem is shown as %q, %v", out.String(), err)
	}
	if err := Text(brokenPipe{}, s); err == nil {
		t.Error("nobody hears that the table was not written")
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestASurveyOfALargeArrayIsCutAndSaysSo(t *testing.T) {
	t.Parallel()
	big := runfile.Survey{Volume: &runfile.SurveyVolume{Name: "data"}}
	for i := range 2000 {
		big.LIFs = append(big.LIFs, runfile.LIF{Name: fmt.Sprintf("lif%04d", i), Address: fmt.Sprintf("10.0.%d.%d", i/250, i%250)})
		big.Rules = append(big.Rules, runfile.ExportRule{Clients: []string{fmt.Sprintf("host%d.example", i)}})
	}
	fit(&big)
	var out strings.Builder
	if err := runfile.WriteSurvey(&out, big); err != nil {
		t.Fatal(err)
	}
	if n := len(big.LIFs); n < 200 || n == 2000 || big.Rules != nil || big.LIFs[0].Name != "lif0000" {
		t.Errorf("%d LIFs and %d rules are left", n, len(big.Rules))
	}
	if text := fmt.Sprint(big.Missing); !strings.Contains(text, "the policy has 2000") || !strings.Contains(text, "some LIFs") {
		t.Errorf("missing: %s", text)
	}
	small := runfile.Survey{Rules: []runfile.ExportRule{{Index: 1}}}
	if fit(&small); len(small.Rules) != 1 || small.Missing != nil {
		t.Errorf("a small survey is cut: %+v", small)
	}
	loud := runfile.Survey{Problem: &runfile.SurveyProblem{Message: strings.Repeat("é", 5000)}}
	if fit(&loud); len(loud.Problem.Message) > 2010 {
		t.Errorf("a message has %d bytes", len(loud.Problem.Message))
	}
}
