package deliver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

const (
	// newsFor is how long after its end a run is news: whoever adds a webhook to a cluster with a
	// thousand benchmarks gets no thousand messages.
	newsFor = 24 * time.Hour
	// maxReplyBytes of an answer are read, for the log.
	maxReplyBytes = 512
)

// Messenger posts a message about each run with one of some outcomes. The benchmarks of a suite
// have none: its runs have.
type Messenger struct {
	config  Webhook
	cluster string
	reader  client.Reader
	http    *http.Client
}

var _ Destination = (*Messenger)(nil)

// NewMessenger makes a Messenger. The reader is the API server: the cache has no message of a
// benchmark that succeeded.
func NewMessenger(c Config, reader client.Reader) *Messenger {
	return &Messenger{config: *c.Webhook, cluster: c.Cluster, reader: reader, http: &http.Client{
		Transport: transport(c.Webhook.CABundle),
		// The address is the administrator's choice, and not the server's.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Name implements Destination.
func (*Messenger) Name() string { return "webhook" }

// Wants implements Destination.
func (m *Messenger) Wants(r Run, now time.Time) bool {
	return slices.Contains(m.config.On, r.Outcome) && now.Sub(r.Ended) < newsFor &&
		(r.Benchmark == nil || r.Benchmark.Labels[v1alpha1.LabelSuite] == "")
}

// message is the body of a POST with the format json.
type message struct {
	Kind      string `json:"kind"`
	Cluster   string `json:"cluster,omitempty"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Run       string `json:"run,omitempty"` // of a suite
	Outcome   string `json:"outcome"`
	Validity  string `json:"validity,omitempty"`
	Message   string `json:"message,omitempty"`
	Ended     string `json:"ended"` // RFC 3339
	Link      string `json:"link,omitempty"`
}

// Send implements Destination. Errors do not contain the address, which is often a credential.
func (m *Messenger) Send(ctx context.Context, r Run) error {
	about, err := m.about(ctx, r)
	if err != nil {
		return err
	}
	var body any = about
	if m.config.Format == formatSlack {
		body = map[string]string{"text": about.slack()}
	}
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	address, err := secret(m.config.SecretDir, "url")
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(text))
	if err != nil {
		return errors.New("the key url of the Secret of results.webhook is no URL")
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := m.http.Do(req)
	if err != nil {
		if e := (*url.Error)(nil); errors.As(err, &e) {
			err = e.Err
		}
		return fmt.Errorf("post to the webhook: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode/100 != 2 {
		said, _ := io.ReadAll(io.LimitReader(resp.Body, maxReplyBytes))
		return fmt.Errorf("the webhook answers %s: %q", resp.Status, said)
	}
	return nil
}

func (m *Messenger) about(ctx context.Context, r Run) (message, error) {
	o := r.object()
	a := message{
		Kind: r.kind(), Cluster: m.cluster, Namespace: o.GetNamespace(), Name: o.GetName(), Run: r.SuiteRun,
		Outcome: r.Outcome, Ended: r.Ended.UTC().Format(time.RFC3339),
	}
	a.Link = strings.NewReplacer("{kind}", a.Kind, "{namespace}", a.Namespace, "{name}", a.Name).Replace(m.config.Link)
	if r.Suite != nil {
		if st := r.Suite.Status; len(st.History) > 0 && st.History[0].Run == r.SuiteRun {
			a.Message = cmp.Or(ptr.Deref(st.Regression, v1alpha1.RegressionStatus{}).Message, st.Message)
		}
		return a, nil
	}
	whole, err := wholeOf(ctx, m.reader, r.Benchmark)
	if err != nil || whole == nil {
		return a, err
	}
	a.Validity, a.Message = string(whole.Status.Validity), whole.Status.Message
	return a, nil
}

// slack is the message in Slack's mrkdwn. Texts of a benchmark are escaped, so that they mention
// nobody and link nowhere.
func (a message) slack() string {
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace
	text := fmt.Sprintf("*%s*: %s `%s/%s`", a.Outcome, a.Kind, a.Namespace, a.Name)
	if a.Run != "" {
		text += " run `" + a.Run + "`"
	}
	if a.Cluster != "" {
		text += " in " + escape(a.Cluster)
	}
	if a.Message != "" {
		text += "\n" + escape(a.Message)
	}
	if a.Link != "" {
		text += "\n<" + a.Link + "|Open it>"
	}
	return text
}
