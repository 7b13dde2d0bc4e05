package ontap

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// apiError is an answer that is no success.
type apiError struct {
	status  int
	code    string
	message string
	target  string
}

func badRequest(message, target string) *apiError {
	return &apiError{http.StatusBadRequest, "2", message, target}
}

func notFound(target string) *apiError {
	return &apiError{http.StatusNotFound, "4", "entry doesn't exist", target}
}

func forbidden() *apiError {
	return &apiError{http.StatusForbidden, "6", "not authorized for that command", ""}
}

// halType is what a client accepts that wants all links.
const halType = "application/hal+json"

// page is how much of a collection an answer holds.
type page struct {
	from, size int
}

func (s *Standin) serve(w http.ResponseWriter, r *http.Request) {
	user, password, _ := r.BasicAuth()
	f := s.note(Request{r.Method, r.URL.Path, r.URL.RawQuery, user})
	// Answers contain the time of the array's clock.
	w.Header().Set("Date", s.now().UTC().Format(http.TimeFormat))
	w.Header().Set("Server", "nfsbench stand-in")
	if f.breaks(w, r, s.ctx.Done()) {
		return
	}
	account, ok := s.account(user, password)
	if !ok {
		w.Header().Set("WWW-Authenticate", `Basic realm="NetApp"`)
		s.fail(w, &apiError{http.StatusUnauthorized, "6691623", "User is not authorized.", ""})
		return
	}
	if r.Method == http.MethodGet {
		s.get(w, r, account, f)
		return
	}
	s.patch(w, r, account)
}

// account tells who signs in.
func (s *Standin) account(user, password string) (Account, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.model.Accounts, func(a Account) bool { return a.User == user && a.Password == password })
	if i < 0 || user == "" {
		return Account{}, false
	}
	return s.model.Accounts[i], true
}

// access is what an account may do with a path: the longest privilege decides.
func (a Account) access(path string) string {
	longest, access := -1, AccessNone
	for _, p := range a.Privileges {
		if (path == p.Path || strings.HasPrefix(path, p.Path+"/")) && len(p.Path) > longest {
			longest, access = len(p.Path), p.Access
		}
	}
	return access
}

func (s *Standin) get(w http.ResponseWriter, r *http.Request, a Account, f *fault) {
	c, one, parent := s.find(strings.TrimPrefix(r.URL.Path, "/api"))
	if c == nil {
		s.fail(w, &apiError{http.StatusNotFound, "3", "API not found", ""})
		return
	}
	if a.access(r.URL.Path) == AccessNone {
		s.fail(w, forbidden())
		return
	}
	params := r.URL.Query()
	q := query{view: s.read(false), model: s.Model(), account: a, parent: parent, params: params, s: s}
	all := slices.DeleteFunc(c.list(q), func(r record) bool {
		return a.SVM != "" && r["svm.name"] != nil && r["svm.name"] != a.SVM
	})
	if one != "" || c.alone {
		s.single(w, c, all, one, params)
		return
	}
	fields, err := c.wanted(params.Get("fields"), false)
	if err != nil {
		s.fail(w, err)
		return
	}
	all, named, err := c.filter(all, params)
	if err != nil {
		s.fail(w, err)
		return
	}
	p, err := pageOf(params)
	if err != nil {
		s.fail(w, err)
		return
	}
	hal := strings.Contains(r.Header.Get("Accept"), halType)
	told := make([]map[string]any, 0, len(all))
	for _, one := range all {
		t := c.project(one, append(slices.Clone(fields), named...))
		if hal && c.one != "" {
			t["_links"] = map[string]any{"self": map[string]any{"href": r.URL.Path + "/" + fmt.Sprint(one[c.one])}}
		}
		told = append(told, t)
	}
	if hal {
		w.Header().Set("Content-Type", halType)
	}
	s.answer(w, http.StatusOK, collect(told, f.page(p), r.URL, hal))
}

// single answers with one record, or with a 404.
func (s *Standin) single(w http.ResponseWriter, c *collection, all []record, one string, params url.Values) {
	fields, err := c.wanted(params.Get("fields"), true)
	if err != nil {
		s.fail(w, err)
		return
	}
	i := slices.IndexFunc(all, func(r record) bool { return c.alone || fmt.Sprint(r[c.one]) == one })
	if i < 0 {
		s.fail(w, notFound(c.one))
		return
	}
	s.answer(w, http.StatusOK, c.project(all[i], fields))
}

// pageOf reads max_records, and where the page begins.
func pageOf(params url.Values) (page, *apiError) {
	p := page{size: 10000}
	if text := params.Get("max_records"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return p, badRequest("Invalid value for max_records", "max_records")
		}
		p.size = min(n, p.size)
	}
	if text := params.Get("start.index"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return p, badRequest("Invalid value for start", "start.index")
		}
		p.from = n
	}
	return p, nil
}

// collect makes one page of a collection. next is told whether or not links are.
func collect(all []map[string]any, p page, at *url.URL, hal bool) map[string]any {
	from := min(p.from, len(all))
	to := min(from+p.size, len(all))
	body := map[string]any{"records": all[from:to], "num_records": to - from}
	links := map[string]any{}
	if hal {
		links["self"] = map[string]any{"href": at.RequestURI()}
	}
	if to < len(all) {
		q := at.Query()
		q.Set("start.index", strconv.Itoa(to))
		links["next"] = map[string]any{"href": at.Path + "?" + q.Encode()}
	}
	if len(links) > 0 {
		body["_links"] = links
	}
	return body
}

func (s *Standin) answer(w http.ResponseWriter, status int, body any) {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a client that went away needs no answer
}

func (s *Standin) fail(w http.ResponseWriter, e *apiError) {
	s.mu.Lock()
	number := s.number
	s.mu.Unlock()
	body := map[string]any{"message": e.message, "code": e.code}
	if n, err := strconv.Atoi(e.code); err == nil && number {
		body["code"] = n
	}
	if e.target != "" {
		body["target"] = e.target
	}
	s.answer(w, e.status, map[string]any{"error": body})
}

// NumberCodes lets error codes be numbers, as prose documents of ONTAP have
// them, instead of the strings of its API models.
func (s *Standin) NumberCodes(number bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number = number
}

// find returns the collection of a path below /api, the key of the one record
// that is asked for, and that of the record it belongs to.
func (s *Standin) find(path string) (c *collection, one, parent string) {
	for _, c := range collections() {
		rest, ok := strings.CutPrefix(path, c.path)
		if head, tail, nested := strings.Cut(c.path, "/{}/"); nested {
			rest, ok = strings.CutPrefix(path, head+"/")
			parent, rest, _ = strings.Cut(rest, "/")
			rest, ok = cut(rest, tail, ok)
		}
		if !ok || strings.Contains(strings.TrimPrefix(rest, "/"), "/") || rest != "" && (rest[0] != '/' || c.one == "") {
			continue
		}
		return c, strings.TrimPrefix(rest, "/"), parent
	}
	return nil, "", ""
}

func cut(text, prefix string, ok bool) (string, bool) {
	rest, found := strings.CutPrefix(text, prefix)
	return rest, ok && found
}
