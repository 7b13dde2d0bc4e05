package ontap

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

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

func (s *Standin) serve(w http.ResponseWriter, r *http.Request) {
	user, password, _ := r.BasicAuth()
	f := s.note(Request{r.Method, r.URL.Path, r.URL.RawQuery, user})
	// Answers contain the time of the array's clock.
	w.Header().Set("Date", s.now().UTC().Format(http.TimeFormat))
	w.Header().Set("Server", "nfsbench stand-in")
	if f.breaks(w, r, s.ctx.Done()) {
		return
	}
	accounts := s.Model().Accounts
	i := slices.IndexFunc(accounts, func(a Account) bool { return a.User == user && a.Password == password })
	if i < 0 || user == "" {
		w.Header().Set("WWW-Authenticate", `Basic realm="NetApp"`)
		s.fail(w, &apiError{http.StatusUnauthorized, "6691623", "User is not authorized.", ""})
		return
	}
	var e *apiError
	if r.Method == http.MethodGet {
		e = s.get(w, r, accounts[i], f)
	} else {
		e = s.patch(w, r, accounts[i])
	}
	if e != nil {
		s.fail(w, e)
	}
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

func (s *Standin) get(w http.ResponseWriter, r *http.Request, a Account, f *fault) *apiError {
	c, one := s.find(strings.TrimPrefix(r.URL.Path, "/api"))
	switch {
	case c == nil:
		return &apiError{http.StatusNotFound, "3", "API not found", ""}
	case a.access(r.URL.Path) == AccessNone:
		return forbidden()
	}
	params := r.URL.Query()
	q := query{view: s.read(false), model: s.Model(), s: s}
	all := slices.DeleteFunc(c.list(q), func(r record) bool {
		return a.SVM != "" && r["svm.name"] != nil && r["svm.name"] != a.SVM
	})
	if one != "" || c.alone {
		return s.single(w, c, all, one, params)
	}
	fields, err := c.wanted(params.Get("fields"), false)
	if err != nil {
		return err
	}
	all, named, err := c.filter(all, params)
	if err != nil {
		return err
	}
	from, e := strconv.Atoi(cmp.Or(params.Get("start.index"), "0"))
	if e != nil || from < 0 || from > len(all) {
		return badRequest("Invalid value for start", "start.index")
	}
	to := min(from+f.pageSize(), len(all))
	told := make([]map[string]any, 0, to-from)
	for _, one := range all[from:to] {
		told = append(told, c.project(one, append(slices.Clone(fields), named...)))
	}
	body := map[string]any{"records": told, "num_records": to - from}
	if to < len(all) { // the one link that plain JSON has
		next := r.URL.Query()
		next.Set("start.index", strconv.Itoa(to))
		insert(body, []string{"_links", "next", "href"}, r.URL.Path+"?"+next.Encode())
	}
	s.answer(w, http.StatusOK, body)
	return nil
}

func (s *Standin) single(w http.ResponseWriter, c *collection, all []record, one string, params url.Values) *apiError {
	fields, err := c.wanted(params.Get("fields"), true)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(r record) bool { return c.alone || fmt.Sprint(r[c.one]) == one })
	if i < 0 {
		return notFound(c.one)
	}
	s.answer(w, http.StatusOK, c.project(all[i], fields))
	return nil
}

func (s *Standin) answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a client that went away needs no answer
}

func (s *Standin) fail(w http.ResponseWriter, e *apiError) {
	body := map[string]any{"message": e.message, "code": e.code}
	if e.target != "" {
		body["target"] = e.target
	}
	s.answer(w, e.status, map[string]any{"error": body})
}

// find returns the collection of a path below /api, and the key of the one record
// that is asked for.
func (s *Standin) find(path string) (c *collection, one string) {
	if id, is := strings.CutPrefix(path, "/protocols/nfs/export-policies/"); is && strings.HasSuffix(id, "/rules") {
		return rulesOf(strings.TrimSuffix(id, "/rules")), ""
	}
	for _, c := range collections() {
		rest, ok := strings.CutPrefix(path, c.path)
		one, nested := strings.CutPrefix(rest, "/")
		if ok && (rest == "" || nested && c.one != "" && !strings.Contains(one, "/")) {
			return c, one
		}
	}
	return nil, ""
}

const maxSeen = 10_000 // what a stand-in that serves for days remembers

// Fault disturbs requests. What is set in it happens; faults are looked for in
// the order in which they were injected, and only the first that fits counts.
type Fault struct {
	Method string // empty = any
	// Path is a pattern of path.Match, such as /api/storage/volumes; one that
	// ends in /... takes everything below too. Empty = any path.
	Path  string
	Times int // how often; 0 = until Clear

	// Status answers with an error of that code (a string, a number, or nil for
	// a body that is none) and message.
	Status  int
	Code    any
	Message string
	Header  http.Header
	// Echo repeats the credentials of the request in the error, as a careless
	// server would.
	Echo bool

	Delay   time.Duration // before the answer, which is right
	Hang    bool          // no answer at all until the client goes away
	Reset   bool          // the connection is reset
	Cut     bool          // the answer ends in its middle
	Garbage bool          // 200 and a body that is no JSON
	// PageSize makes pages of that size.
	PageSize int
	// EmptyPage answers with no records and a next, once for each collection:
	// what ONTAP does when its return_timeout is over.
	EmptyPage bool
}

type fault struct {
	Fault
	left int
}

// Inject adds a fault.
func (s *Standin) Inject(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &fault{f, f.Times})
}

// Clear ends all faults that were injected.
func (s *Standin) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// note writes a request down and returns the fault that it meets, or nil.
func (s *Standin) note(r Request) *fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) == maxSeen {
		s.seen = slices.Delete(s.seen, 0, maxSeen/2)
	}
	s.seen = append(s.seen, r)
	i := slices.IndexFunc(s.faults, func(f *fault) bool { return f.meets(r) })
	if i < 0 {
		return nil
	}
	f := s.faults[i]
	if f.left--; f.Times > 0 && f.left == 0 {
		s.faults = slices.Delete(s.faults, i, i+1)
	}
	return &fault{f.Fault, 0}
}

func (f *fault) meets(r Request) bool {
	if f.Method != "" && f.Method != r.Method {
		return false
	}
	// The second page of a collection is not empty again.
	if f.EmptyPage && strings.Contains(r.Query, "start.") {
		return false
	}
	if top, ok := strings.CutSuffix(f.Path, "/..."); ok {
		return r.Path == top || strings.HasPrefix(r.Path, top+"/")
	}
	ok, err := path.Match(f.Path, r.Path)
	return f.Path == "" || ok && err == nil
}

// breaks plays the fault and tells whether that was all the answer there is.
func (f *fault) breaks(w http.ResponseWriter, r *http.Request, end <-chan struct{}) bool {
	switch {
	case f == nil:
		return false
	case f.Hang:
		select {
		case <-r.Context().Done():
		case <-end:
		}
		panic(http.ErrAbortHandler)
	case f.Reset:
		reset(w)
		return true
	case f.Cut:
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte(`{"records":[`))
		panic(http.ErrAbortHandler)
	case f.Garbage:
		_, _ = w.Write([]byte("<html>It works!</html>"))
		return true
	case f.Status != 0:
		f.fail(w, r)
		return true
	}
	select {
	case <-time.After(f.Delay):
	case <-r.Context().Done():
	case <-end:
	}
	return false
}

func (f *fault) fail(w http.ResponseWriter, r *http.Request) {
	maps.Copy(w.Header(), f.Header)
	w.WriteHeader(f.Status)
	if f.Code == nil && f.Message == "" && !f.Echo {
		return
	}
	message := f.Message
	if f.Echo {
		user, password, _ := r.BasicAuth()
		message += " you sent " + r.Header.Get("Authorization") + " which is " + user + " and " + password
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": message, "code": f.Code}})
}

// pageSize is how many records an answer has at most.
func (f *fault) pageSize() int {
	switch {
	case f != nil && f.EmptyPage:
		return 0
	case f != nil && f.PageSize > 0:
		return f.PageSize
	}
	return 10_000
}

// Certificate is what a stand-in presents.
type Certificate int

// The certificates.
const (
	// CertificateProper names the address and is signed by a CA of its own.
	CertificateProper Certificate = iota
	// CertificateFactory is what ONTAP comes with: self-signed, a common name,
	// no subject alternative name. Nobody can verify it.
	CertificateFactory
	// CertificateExpired was proper until yesterday.
	CertificateExpired
	// CertificateForeign is proper, but for another host.
	CertificateForeign
)

// StartTLS serves on listener until Close. caPEM is what a client must trust.
func (s *Standin) StartTLS(listener net.Listener) (url string, caPEM []byte, err error) {
	host, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return "", nil, fmt.Errorf("address of the listener: %w", err)
	}
	pair, caPEM, err := certify(s.opt.Certificate, []string{host, "localhost"})
	if err != nil {
		return "", nil, fmt.Errorf("make a certificate: %w", err)
	}
	server := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
	}
	s.tasks.Go(func() {
		if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			s.stop() // the listener is gone, and with it the stand-in
		}
	})
	s.tasks.Go(func() {
		<-s.ctx.Done()
		_ = server.Close() // there is nobody to tell
	})
	if s.opt.Now == nil {
		s.tasks.Go(s.readOnGrid)
	}
	return "https://" + net.JoinHostPort(host, port), caPEM, nil
}

func certify(kind Certificate, names []string) (tls.Certificate, []byte, error) {
	begin, end := time.Now().Add(-48*time.Hour), time.Now().Add(48*time.Hour)
	if kind == CertificateExpired {
		end = time.Now().Add(-24 * time.Hour)
	}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "nfsbench stand-in CA"}, NotBefore: begin,
		NotAfter: time.Now().Add(48 * time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "naclu1"}, NotBefore: begin, NotAfter: end,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if kind == CertificateForeign {
		names = []string{"192.0.2.250", "elsewhere.example.com"}
	}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
			continue
		}
		leaf.DNSNames = append(leaf.DNSNames, n)
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	key, err2 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err := errors.Join(err, err2); err != nil {
		return tls.Certificate{}, nil, err
	}
	signer, signerKey := ca, caKey
	if kind == CertificateFactory {
		leaf.IPAddresses, leaf.DNSNames = nil, nil
		signer, signerKey = leaf, key
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, signer, &key.PublicKey, signerKey)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	trusted := der
	if kind != CertificateFactory {
		if trusted, err = x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey); err != nil {
			return tls.Certificate{}, nil, err
		}
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: trusted}), nil
}

// reset ends the connection of an answer with a TCP reset.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil { // HTTP/2: the stream is all there is to reset
		panic(http.ErrAbortHandler)
	}
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	if t, ok := conn.(*net.TCPConn); ok {
		_ = t.SetLinger(0) // then it is a reset and no end
	}
	_ = conn.Close()
}
