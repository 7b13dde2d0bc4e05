package browser

import (
	"fmt"
	"strings"
	"testing"
)

// The sizes of the windows: a desk, and a telephone.
const (
	wide   = 1280
	narrow = 400
	high   = 800
)

// maxLoadMilliseconds is what was promised of the report of an hour.
const maxLoadMilliseconds = 2000

// TestReportsInABrowser opens each report in a real browser, as its readers do.
func TestReportsInABrowser(t *testing.T) {
	d := newDriver(t)
	files := pages(t)
	pictured := map[string]bool{"hour": true, "suite": true, "comparison": true, "ramp": true} // one of each kind
	for name, file := range files {
		t.Run(name, func(t *testing.T) {
			for _, width := range []int64{wide, narrow} {
				t.Run(fmt.Sprint(width), func(t *testing.T) {
					p := d.open(t, file, width, high)
					p.loaded(t)
					p.verdictFirst(t)
					p.fits(t, width)
					p.textsApart(t)
					p.silent(t, file)
					if pictured[name] {
						p.shot(t, fmt.Sprintf("%s-%d", name, width))
					}
				})
			}
		})
	}
	t.Run("print", func(t *testing.T) {
		for _, name := range []string{"hour", "suite"} {
			p := d.open(t, files[name], wide, high)
			p.media(t, "print", "dark")
			if c := eval[string](t, p, `getComputedStyle(document.body).backgroundColor`); c != "rgb(255, 255, 255)" {
				t.Errorf("%s is printed on %s, also by who reads it in the dark", name, c)
			}
			p.textsApart(t)
			p.media(t, "", "light")
			p.print(t, name)
		}
	})
	t.Run("dark", func(t *testing.T) {
		p := d.open(t, files["hour"], wide, high)
		p.media(t, "screen", "dark")
		if c := eval[string](t, p, `getComputedStyle(document.body).backgroundColor`); c == "rgb(255, 255, 255)" {
			t.Error("the page stays white in the dark")
		}
		p.shot(t, "hour-dark")
	})
}

// loaded holds the time that the browser itself measured against what was
// promised.
func (p *tab) loaded(t *testing.T) {
	t.Helper()
	ms := eval[float64](t, p, `performance.getEntriesByType("navigation")[0].loadEventEnd`)
	t.Logf("opened in %.0f ms", ms)
	if ms <= 0 || ms >= maxLoadMilliseconds {
		t.Errorf("it took %.0f ms to open, at most %d are accepted", ms, maxLoadMilliseconds)
	}
}

// verdictFirst wants the first answer in sight without scrolling, as a word.
func (p *tab) verdictFirst(t *testing.T) {
	t.Helper()
	word := eval[string](t, p, `(() => {
		const w = document.querySelector(".card .word"), r = w.getBoundingClientRect();
		return r.height > 0 && r.top >= 0 && r.bottom <= innerHeight && w.querySelector("svg") ? w.innerText.trim() : "";
	})()`)
	if word == "" {
		t.Error("the verdict is not in the first window, or has no symbol or no word")
	}
}

// fits wants nothing to stick out to the right, tables unfolded; what scrolls by
// itself may be wider inside.
func (p *tab) fits(t *testing.T, width int64) {
	t.Helper()
	out := eval[[]string](t, p, `(() => {
		document.querySelectorAll("details").forEach(d => d.open = true);
		const wide = [...document.querySelectorAll("body *")].filter(e => !e.closest("svg") && !e.parentElement.closest(".scroll")
			&& e.getBoundingClientRect().right > innerWidth + 0.5);
		const found = wide.slice(0, 5).map(e => e.tagName + "." + e.className + " " + e.getBoundingClientRect().right);
		if (document.documentElement.scrollWidth > innerWidth) found.push("the page is " + document.documentElement.scrollWidth + " wide");
		return found;
	})()`)
	if len(out) > 0 {
		t.Errorf("too wide for %d: %s", width, strings.Join(out, "; "))
	}
}

// textsApart wants no text of a figure that is shown to lie over another, or to
// stick out of it.
func (p *tab) textsApart(t *testing.T) {
	t.Helper()
	type result struct {
		Figures, Texts int
		Bad            []string
	}
	r := eval[result](t, p, `(() => {
		const bad = []; let figures = 0, count = 0;
		for (const svg of document.querySelectorAll("svg.chart")) {
			if (!svg.getClientRects().length) continue;
			figures++;
			const box = svg.viewBox.baseVal;
			const texts = [...svg.querySelectorAll("text")].map(e => ({s: e.textContent, b: e.getBBox()}));
			count += texts.length;
			texts.forEach((a, i) => {
				if (a.b.x < -1 || a.b.x + a.b.width > box.width + 1 || a.b.y < -2 || a.b.y + a.b.height > box.height + 2)
					bad.push(svg.getAttribute("aria-labelledby") + ": " + a.s + " sticks out");
				for (const c of texts.slice(i + 1))
					if (a.b.x + 1 < c.b.x + c.b.width && c.b.x + 1 < a.b.x + a.b.width && a.b.y + 2.5 < c.b.y + c.b.height && c.b.y + 2.5 < a.b.y + a.b.height)
						bad.push(svg.getAttribute("aria-labelledby") + ": " + a.s + " lies over " + c.s);
			});
		}
		return {Figures: figures, Texts: count, Bad: bad.slice(0, 10)};
	})()`)
	t.Logf("%d texts in %d figures", r.Texts, r.Figures)
	for _, b := range r.Bad {
		t.Error(b)
	}
}
