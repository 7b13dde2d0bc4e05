package flashblade

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/integrate"
	"github.com/nfsbench/nfsbench/internal/storage/rest"
)

// survey is the state of a running survey.
type survey struct {
	*Source
	out runfile.Survey
	fs  fileSystem
}

// Survey reads the facts that matter before a run. It fails if it does not find the file system:
// Source.Volume, or else the first part of the export path. It lists in Missing everything else that the
// token may not read, and the CPU, which no FlashBlade reports.
func (s *Source) Survey(ctx context.Context, export string) (runfile.Survey, error) {
	v := &survey{Source: s, out: runfile.Survey{
		Version: runfile.SurveyVersion, Source: s.src.Name, Array: "FlashBlade " + s.client.Host(), Time: s.now(),
	}}
	v.miss("CPU of the nodes", "FlashBlade does not tell the CPU of its blades", "")
	for _, step := range []func(context.Context) error{
		func(ctx context.Context) error { return v.fileSystem(ctx, export) },
		v.array, v.clock, v.blades, v.vips, v.rules,
	} {
		if err := step(ctx); err != nil {
			err = fmt.Errorf("survey %s: %w", s.name, err)
			return runfile.Survey{}, &storage.SurveyError{Reason: rest.Reason(err), Err: err}
		}
	}
	return v.out, nil
}

func (v *survey) miss(what, why, fix string) {
	v.out.Missing = append(v.out.Missing, runfile.MissingFact{What: what, Why: why, Fix: fix})
}

// try lists a part as missing if the array refuses it. It returns the errors that end the survey: no answer,
// or a 401.
func (v *survey) try(what, path string, err error) error {
	status, answered := errors.AsType[*rest.StatusError](err)
	switch {
	case err == nil:
	case !answered && !storage.IsPermanent(err) || answered && status.Status == http.StatusUnauthorized:
		return err
	case answered && status.Status == http.StatusForbidden:
		v.miss(what, "the token may not read "+path+" (403)",
			"use an API token of a user with the role readonly: pureadmin create --api-token, or Settings > Users in the GUI")
	default:
		v.miss(what, err.Error(), "")
	}
	return nil
}

// fileSystem is a file system of the array. Space.Virtual is the size of its data before reduction.
type fileSystem struct {
	Name             string `json:"name"`
	ID               string `json:"id"`
	Provisioned      *int64 `json:"provisioned"`
	HardLimitEnabled *bool  `json:"hard_limit_enabled"`
	Destroyed        bool   `json:"destroyed"`
	Writable         *bool  `json:"writable"`
	Space            struct {
		Virtual *int64 `json:"virtual"`
	} `json:"space"`
	NFS struct {
		V3           *bool  `json:"v3_enabled"`
		V41          *bool  `json:"v4_1_enabled"`
		Rules        string `json:"rules"`
		ExportPolicy struct {
			Name string `json:"name"`
		} `json:"export_policy"`
	} `json:"nfs"`
}

func (v *survey) fileSystem(ctx context.Context, export string) error {
	name := v.src.Volume
	if name == "" {
		name, _, _ = strings.Cut(strings.TrimPrefix(export, "/"), "/")
	}
	absent := func(why string) error {
		return &storage.SurveyError{Reason: runfile.SurveyNoVolume, Err: storage.Permanent(fmt.Errorf(
			"file system %q of export %s %s: set storage.array.flashBlade.fileSystem if it has another name than the export",
			name, export, why))}
	}
	found, err := list[fileSystem](ctx, v.Source, "/file-systems", url.Values{"names": {name}})
	if status, ok := errors.AsType[*rest.StatusError](err); ok &&
		(status.Status == http.StatusBadRequest || status.Status == http.StatusNotFound) {
		return absent("is not there (" + status.Error() + ")") // the array's answer to an unknown name
	}
	if err != nil {
		return err
	}
	i := slices.IndexFunc(found, func(f fileSystem) bool { return f.Name == name })
	switch {
	case name == "" || i < 0:
		return absent("is not there")
	case found[i].Destroyed:
		return absent("is destroyed")
	}
	v.fs = found[i]
	v.out.NFS = &runfile.NFSService{V3: v.fs.NFS.V3, V40: new(false), V41: v.fs.NFS.V41, PNFS: new(false)}
	if v.fs.NFS.V3 != nil && v.fs.NFS.V41 != nil {
		v.out.NFS.Enabled = new(*v.fs.NFS.V3 || *v.fs.NFS.V41)
	}
	v.out.Volume = volume(v.fs)
	return nil
}

// volume returns f with the default export path of every file system. Without a hard limit it may grow beyond
// its provisioned size, and the free space is unknown.
func volume(f fileSystem) *runfile.SurveyVolume {
	out := &runfile.SurveyVolume{
		Name: f.Name, UUID: f.ID, Export: "/" + f.Name, State: "online",
		ExportPolicy: cmp.Or(f.NFS.ExportPolicy.Name, "of the file system itself"),
	}
	if f.Writable != nil && !*f.Writable {
		out.State = "read-only"
	}
	if p := f.Provisioned; p != nil && *p > 0 {
		out.SizeBytes = p
		if u := f.Space.Virtual; u != nil && *u >= 0 && f.HardLimitEnabled != nil && *f.HardLimitEnabled {
			out.AvailableBytes = new(max(0, *p-*u))
		}
	}
	return out
}

func (v *survey) array(ctx context.Context) error {
	arrays, err := list[struct {
		Name    string `json:"name"`
		OS      string `json:"os"`
		Version string `json:"version"`
	}](ctx, v.Source, "/arrays", nil)
	if err == nil && (len(arrays) != 1 || arrays[0].Version == "") {
		err = storage.Permanent(fmt.Errorf("%d arrays answer, and one has to tell its version", len(arrays)))
	}
	if len(arrays) == 1 {
		v.out.Array = strings.Join(strings.Fields("FlashBlade "+arrays[0].Name+", "+arrays[0].OS+" "+arrays[0].Version), " ")
	}
	return v.try("name and version of the array", "/arrays", err)
}

// clock compares the time of the newest second with our clock. The array publishes a second after its end, so
// the clock of the array may be up to two seconds ahead of the reported offset.
func (v *survey) clock(ctx context.Context) error {
	asked := v.now()
	points, err := v.performance(ctx, v.fs.Name, time.Time{})
	middle := asked.Add(v.now().Sub(asked) / 2)
	batch, differ := batchOf(points)
	if len(batch.Total) > 0 {
		newest := slices.MaxFunc(batch.Total, func(a, b integrate.Rates) int { return a.Time.Compare(b.Time) })
		v.out.ClockOffsetMilliseconds = new(newest.Time.Sub(middle).Milliseconds())
	}
	return v.try("operations, bytes and latencies of the file system", "/file-systems/performance", cmp.Or(err, differ))
}

func (v *survey) blades(ctx context.Context) error {
	blades, err := list[struct {
		Name   string `json:"name"`
		Status string `json:"status"`
	}](ctx, v.Source, "/blades", nil)
	for _, b := range blades {
		if b.Name != "" && b.Status != "unused" && b.Status != "empty" {
			n := runfile.SurveyNode{Name: b.Name}
			if b.Status != "" && b.Status != "unknown" {
				n.Up = new(b.Status == "healthy")
			}
			v.out.Nodes = append(v.out.Nodes, n)
		}
	}
	slices.SortFunc(v.out.Nodes, func(a, b runfile.SurveyNode) int { return cmp.Compare(a.Name, b.Name) })
	v.out.Nodes = slices.CompactFunc(v.out.Nodes, func(a, b runfile.SurveyNode) bool { return a.Name == b.Name })
	return v.try("blades", "/blades", err)
}

// vips lists the data addresses. They have no node: every VIP serves every file system.
func (v *survey) vips(ctx context.Context) error {
	vips, err := list[struct {
		Name     string   `json:"name"`
		Address  string   `json:"address"`
		Netmask  string   `json:"netmask"`
		Services []string `json:"services"`
		Enabled  *bool    `json:"enabled"`
	}](ctx, v.Source, "/network-interfaces", nil)
	for _, i := range vips {
		if i.Services != nil && !slices.Contains(i.Services, "data") {
			continue
		}
		a, wrong := netip.ParseAddr(i.Address)
		if wrong != nil || i.Name == "" || i.Services == nil {
			// The list would say that the array lacks an address that it has.
			v.out.LIFs = nil
			return v.try("VIPs", "", storage.Permanent(fmt.Errorf(
				"network interface %q lacks a name, an address (%q) or services", i.Name, i.Address)))
		}
		v.out.LIFs = append(v.out.LIFs,
			runfile.LIF{Name: i.Name, Address: a.String(), Prefix: storage.PrefixLength(a.BitLen(), i.Netmask), Up: i.Enabled})
	}
	slices.SortFunc(v.out.LIFs, func(a, b runfile.LIF) int { return cmp.Compare(a.Name, b.Name) })
	v.out.LIFs = slices.CompactFunc(v.out.LIFs, func(a, b runfile.LIF) bool { return a.Name == b.Name })
	return v.try("VIPs", "/network-interfaces", err)
}

// The words of export rules, which runfile.ExportRule has, too.
const (
	flavourSys   = "sys"
	flavourAny   = "any"
	flavourNone  = "none"
	flavourNever = "never"
)

// policyRule is one rule of an export policy.
type policyRule struct {
	Client     string   `json:"client"`
	Access     string   `json:"access"`     // root-squash, all-squash, no-squash
	Permission string   `json:"permission"` // rw, ro
	Index      *int32   `json:"index"`
	Security   []string `json:"security"`
}

// rules reads the export policy, or the rules in the file system itself.
func (v *survey) rules(ctx context.Context) error {
	const path = "/nfs-export-policies/rules"
	policy := v.fs.NFS.ExportPolicy.Name
	if policy == "" {
		text := v.fs.NFS.Rules
		var ok bool
		if v.out.Rules, ok = inlineRules(text); !ok {
			v.miss("export rules", "the rules of the file system are not understood: "+strconv.Quote(text), "")
		} else if v.out.Rules == nil {
			// A file system without both may still be exported: since REST 2.16 exports may have their own policies.
			v.miss("export rules", "nfs of the file system tells neither export_policy nor rules", "")
		}
		return nil
	}
	rules, err := list[policyRule](ctx, v.Source, path, url.Values{"policy_names": {policy}})
	if slices.ContainsFunc(rules, func(r policyRule) bool { return r.Index == nil }) {
		err = storage.Permanent(errors.New("a rule has no index"))
	}
	if err != nil {
		return v.try("export rules", path, err)
	}
	v.out.Rules = []runfile.ExportRule{}
	for _, r := range rules {
		v.out.Rules = append(v.out.Rules, exportRule(r))
	}
	slices.SortStableFunc(v.out.Rules, func(a, b runfile.ExportRule) int { return cmp.Compare(a.Index, b.Index) })
	return nil
}

// exportRule omits unknown values of a rule.
func exportRule(r policyRule) runfile.ExportRule {
	flavours := r.Security
	if len(flavours) == 0 {
		flavours = []string{flavourSys}
	}
	out := runfile.ExportRule{
		Index: *r.Index, Clients: []string{r.Client}, Protocols: []string{"nfs"}, ReadOnly: flavours,
	}
	if r.Client == "*" {
		out.Clients = []string{"0.0.0.0/0", "::/0"}
	}
	switch r.Permission {
	case "rw":
		out.ReadWrite = flavours
	case "ro":
		out.ReadWrite = []string{flavourNever}
	}
	switch r.Access {
	case "no-squash":
		out.SuperUser = []string{flavourAny}
	case "root-squash", "all-squash":
		out.SuperUser = []string{flavourNone}
	}
	return out
}

// inlineRules parses rules in the form of exports(5), such as "10.0.0.0/8(rw,no_root_squash) *(ro)". A client
// without options may only read.
func inlineRules(text string) ([]runfile.ExportRule, bool) {
	var all []runfile.ExportRule
	for i, word := range strings.Fields(text) {
		client, options, has := strings.Cut(word, "(")
		options, closed := strings.CutSuffix(options, ")")
		if client == "" || has != closed || strings.ContainsAny(options, "()") {
			return nil, false
		}
		r := policyRule{Client: client, Index: new(int32(i + 1)), Permission: "ro", Access: "root-squash"} //nolint:gosec // a body is bounded
		for o := range strings.SplitSeq(options, ",") {
			switch {
			case o == "rw" || o == "ro":
				r.Permission = o
			case o == "no_root_squash":
				r.Access = "no-squash"
			case o == "root_squash" || o == "all_squash":
				r.Access = "root-squash"
			case strings.HasPrefix(o, "sec="):
				r.Security = strings.Split(strings.TrimPrefix(o, "sec="), ":")
			}
		}
		all = append(all, exportRule(r))
	}
	return all, true
}
