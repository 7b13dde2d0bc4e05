package ontap

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/rest"
)

// find returns the volume with the name of the source, or else the volume with the longest junction that
// leads to the export path, because an export may lie deeper than its volume (a qtree of Trident's economy
// driver). The root volume of the SVM leads to every path and counts only for the export /.
func (s *Source) find(ctx context.Context, export string, want ...string) (volume, error) {
	if s.src.Volume != "" {
		v, found, err := s.byField(ctx, "name", s.src.Volume, func(v volume) string { return v.Name }, want)
		if err != nil || found {
			return v, err
		}
	}
	for at := clean(export); at != ""; at = parent(at) {
		v, found, err := s.byField(ctx, "nas.path", at, func(v volume) string { return clean(v.NAS.Path) }, want)
		if err != nil || found {
			return v, err
		}
	}
	var by []string
	if s.src.Volume != "" {
		by = append(by, "named "+s.src.Volume)
	}
	if export != "" {
		by = append(by, "with a junction that leads to export "+export)
	}
	err := fmt.Errorf("%s: neither a volume nor an export is named", s.name)
	if by != nil {
		err = fmt.Errorf("%s has no volume %s that this account can see: check SVM, export path and the volume's "+
			"junction (volume show -junction)", s.name, strings.Join(by, " or "))
	}
	return volume{}, surveyError(runfile.SurveyNoVolume, storage.Permanent(err))
}

func clean(export string) string {
	if export == "" {
		return ""
	}
	return path.Clean("/" + export)
}

// parent returns the parent path, empty below the root.
func parent(p string) string {
	if p = path.Dir(p); p == "/" {
		return ""
	}
	return p
}

// byField returns the one volume whose field is value, if there is one. It checks the answer again, because a
// value may contain characters with a meaning in ONTAP's queries.
func (s *Source) byField(ctx context.Context, field, value string, get func(volume) string, want []string,
) (v volume, is bool, err error) {
	q := url.Values{field: {value}, "fields": fields(want...)}
	if s.src.SVM != "" { // not the SVM of a volume that was found before
		q.Set("svm.name", s.src.SVM)
	}
	found, err := list[volume](ctx, s, apiVolumes, q)
	if err != nil {
		return volume{}, false, s.explained(err, apiVolumes)
	}
	found = slices.DeleteFunc(found, func(v volume) bool {
		return get(v) != value || s.src.SVM != "" && v.SVM.Name != "" && v.SVM.Name != s.src.SVM
	})
	switch len(found) {
	case 0:
		return volume{}, false, nil
	case 1:
		return found[0], true, nil
	}
	return volume{}, false, surveyError(runfile.SurveyNoVolume, storage.Permanent(
		fmt.Errorf("%d volumes have %s %s on %s: name the SVM in storage.array.ontap.svm", len(found), field, value, s.name)))
}

// owner returns the node that owns the data of v, empty if it is unknown or more than one.
func owner(v volume, owners map[string]string) string {
	var nodes []string
	for _, n := range v.Nodes {
		nodes = append(nodes, n.Name)
	}
	if len(v.Aggregates) > 0 {
		var of []string
		for _, a := range v.Aggregates {
			of = append(of, owners[a.Name])
		}
		if len(nodes) == 0 || !slices.Contains(of, "") {
			nodes = of
		}
	}
	if nodes = slices.Compact(nodes); len(nodes) != 1 {
		return ""
	}
	return nodes[0]
}

// aggregates returns the node that owns each aggregate now.
func (s *Source) aggregates(ctx context.Context) (map[string]string, error) {
	all, err := list[aggregate](ctx, s, apiAggregates, url.Values{"fields": fields("name", "node.name")})
	if err != nil {
		return nil, err
	}
	owners := make(map[string]string, len(all))
	for _, a := range all {
		node := a.Node.Name
		if other, again := owners[a.Name]; again && other != node {
			node = "" // the aggregate moved while ONTAP listed it
		}
		owners[a.Name] = node
	}
	delete(owners, "") // an aggregate without a name
	return owners, nil
}

// volumeNodes reads the nodes from the volume itself, for accounts that may not see aggregates. An ONTAP
// without that field answers 400, which means no nodes.
func (s *Source) volumeNodes(ctx context.Context, uuid string) ([]named, error) {
	var v volume
	err := s.optional(ctx, fieldVolumeNodes, func(ctx context.Context) error {
		_, err := s.client.Get(ctx, volumePath(uuid), url.Values{"fields": fields(fieldVolumeNodes)}, &v)
		return err
	})
	return v.Nodes, err
}

func volumePath(uuid string) string { return apiVolumes + "/" + url.PathEscape(uuid) }

// explained returns a SurveyError of err, with advice for a missing permission.
func (s *Source) explained(err error, api string) error {
	if hasStatus(err, http.StatusForbidden) {
		err = fmt.Errorf("%w: allow it with: %s", err, fix(api))
	}
	if hasStatus(err, http.StatusUnauthorized) {
		err = fmt.Errorf("%w: check username and password in the Secret of storage.array.ontap.credentialsSecretRef, "+
			"and that the account may use HTTP (security login show -application http)", err)
	}
	return surveyError(rest.Reason(err), err)
}

func surveyError(reason string, err error) error {
	return &storage.SurveyError{Reason: reason, Err: err}
}
