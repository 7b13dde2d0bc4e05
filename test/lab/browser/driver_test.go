package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// driver is a real browser, started once for all pages.
type driver struct{ ctx context.Context }

// newDriver starts the browser that NFSBENCH_BROWSER names; hack/browser.sh finds
// or installs one.
func newDriver(t *testing.T) *driver {
	t.Helper()
	path := os.Getenv("NFSBENCH_BROWSER")
	if path == "" {
		t.Skip("NFSBENCH_BROWSER names no browser: NFSBENCH_BROWSER=$(hack/browser.sh) go test -C test/lab ./browser")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.DisableGPU, chromedp.WSURLReadTimeout(time.Minute))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // it refuses to run as root otherwise
	}
	allocated, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, closeBrowser := chromedp.NewContext(allocated)
	t.Cleanup(closeBrowser)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	return &driver{ctx}
}

// tab is one page in the browser, with all that it said and asked for.
type tab struct {
	ctx      context.Context
	mu       sync.Mutex
	requests []string
	errors   []string
}

// open loads a file in a new tab of a size.
func (d *driver) open(t *testing.T, file string, width, height int64) *tab {
	t.Helper()
	ctx, done := chromedp.NewContext(d.ctx)
	t.Cleanup(done)
	p := &tab{ctx: ctx}
	if err := chromedp.Listen(ctx, p.listen); err != nil {
		t.Fatal(err)
	}
	call(t, p, network.Enable, network.EnableParams{})
	call(t, p, log.Enable, cdp.Empty{})
	call(t, p, runtime.Enable, cdp.Empty{})
	run(t, p, chromedp.EmulateViewport(width, height))
	run(t, p, chromedp.Navigate("file://"+file))
	return p
}

// patience is how long one action may take.
const patience = time.Minute

// run does one action in the page.
func run[T any](t *testing.T, p *tab, action chromedp.Action[T]) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, action)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// call sends one command of the protocol.
func call[P, R any](t *testing.T, p *tab, command cdp.Command[P, R], params P) {
	t.Helper()
	run(t, p, func(ctx context.Context, target *chromedp.Target) (R, error) {
		return cdp.Call(ctx, target, command, params)
	})
}

// eval runs an expression of JavaScript in the page.
func eval[T any](t *testing.T, p *tab, expression string) T {
	t.Helper()
	return run(t, p, chromedp.Evaluate[T](expression))
}

func (p *tab) listen(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		p.requests = append(p.requests, e.Request.URL)
	case *runtime.EventExceptionThrown:
		p.errors = append(p.errors, e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		p.errors = append(p.errors, fmt.Sprintf("console.%s", e.Type))
	case *log.EventEntryAdded:
		p.errors = append(p.errors, fmt.Sprintf("%s: %s", e.Entry.Level, e.Entry.Text))
	}
}

// silent fails the test if the page asked for anything but itself, or complained.
func (p *tab) silent(t *testing.T, file string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, u := range p.requests {
		if u != "file://"+file {
			t.Errorf("the page asked for %s", u)
		}
	}
	if len(p.requests) == 0 {
		t.Error("no request was seen, not even that for the page: nothing is known")
	}
	for _, e := range p.errors {
		t.Errorf("the browser says: %s", e)
	}
}

// media emulates a medium and a colour scheme.
func (p *tab) media(t *testing.T, medium, scheme string) {
	t.Helper()
	call(t, p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: medium, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

// shot keeps a picture of the whole page in NFSBENCH_SCREENSHOTS, if that is set,
// for people to look at.
func (p *tab) shot(t *testing.T, name string) {
	t.Helper()
	folder := os.Getenv("NFSBENCH_SCREENSHOTS")
	if folder == "" {
		folder = t.TempDir()
	}
	const lossless = 100
	png := run(t, p, chromedp.FullScreenshot(lossless))
	keep(t, filepath.Join(folder, name+".png"), png)
	if len(png) < 10_000 {
		t.Errorf("the picture has %d bytes: the page is empty", len(png))
	}
}

// print makes a PDF of the page.
func (p *tab) print(t *testing.T, name string) []byte {
	t.Helper()
	pdf := run(t, p, chromedp.PrintToPDF(chromedp.PDFPreferCSSPageSize(), chromedp.PDFPrintBackground()))
	if folder := os.Getenv("NFSBENCH_SCREENSHOTS"); folder != "" {
		keep(t, filepath.Join(folder, name+".pdf"), pdf)
	}
	if !strings.HasPrefix(string(pdf), "%PDF-") || len(pdf) < 10_000 {
		t.Errorf("what was printed has %d bytes and is no PDF", len(pdf))
	}
	return pdf
}

func keep(t *testing.T, file string, data []byte) {
	t.Helper()
	const folderMode, mode = 0o755, 0o644
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), folderMode), os.WriteFile(file, data, mode)); err != nil {
		t.Fatal(err)
	}
}
