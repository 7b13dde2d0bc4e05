package ontap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/rest"
)

// survey is the state of a running survey.
type survey struct {
	*Source
	out runfile.Survey
	vol volume
}

// Survey reads the facts that matter before a run. It fails if it does not find the volume. It lists in
// Missing everything else that the account may not read, with the command that grants the right. Later
// samples read the volume that Survey found.
func (s *Source) Survey(ctx context.Context, export string) (runfile.Survey, error) {
	v := &survey{Source: s, out: runfile.Survey{Version: runfile.SurveyVersion, Source: s.src.Name, Time: s.now()}}
	for _, step := range []func(context.Context) error{
		v.cluster,
		func(ctx context.Context) error { return v.volume(ctx, export) },
		v.owner, v.nodes, v.lifs, v.service,
		func(ctx context.Context) error { return v.rules(ctx, export) },
		v.qos,
	} {
		if err := step(ctx); err != nil {
			err = fmt.Errorf("survey %s: %w", s.name, err)
			return runfile.Survey{}, surveyError(rest.Reason(err), err)
		}
	}
	return v.out, nil
}

// try lists a part as missing if the array refuses it. It returns the errors that end the survey: no answer,
// a 401, and an untrusted certificate.
func (v *survey) try(p part, err error) error {
	if err == nil {
		return nil
	}
	status, answered := errors.AsType[*rest.StatusError](err)
	if !answered && !storage.IsPermanent(err) || answered && status.Status == http.StatusUnauthorized ||
		rest.Reason(err) == runfile.SurveyUntrusted {
		return v.explained(err, p.api)
	}
	if !answered || status.Status != http.StatusForbidden {
		v.miss(p.what, err.Error(), "")
		return nil
	}
	why := fmt.Sprintf("the account may not read %s (403", p.api)
	if status.Code != "" {
		why += ", code " + status.Code
	}
	how := fix(p.api)
	if p.cluster {
		how += clusterOnly
	}
	v.miss(p.what, why+")", how)
	return nil
}

// untold returns the error of an answer that lacks a field or has an unknown word in it.
func untold(field string) error {
	return storage.Permanent(fmt.Errorf("ONTAP does not tell %s", field))
}

func (v *survey) miss(what, why, fix string) {
	v.out.Missing = append(v.out.Missing, runfile.MissingFact{What: what, Why: why, Fix: fix})
}

func (v *survey) cluster(ctx context.Context) error {
	var c cluster
	_, err := v.client.Get(ctx, apiCluster, url.Values{"fields": fields("name", "version")}, &c)
	v.out.Array = strings.TrimSpace("ONTAP " + c.release())
	if c.Name != "" {
		v.out.Array += ", cluster " + c.Name
	}
	if err == nil && c.release() == "" {
		err = untold("version")
	}
	return v.try(part{what: "version of ONTAP", api: apiCluster}, err)
}

func (v *survey) volume(ctx context.Context, export string) error {
	found, err := v.find(ctx, export,
		"uuid", "name", "svm.name", "style", "state", "size", "space.available", "aggregates.name",
		"nas.path", "nas.export_policy", "qos.policy", "movement") // nas.path, qos and movement must be named
	if err != nil {
		return err
	}
	if ahead, known := v.client.ClockAhead(); known {
		v.out.ClockOffsetMilliseconds = new(ahead.Milliseconds())
	}
	if err := v.remember(found); err != nil {
		return err
	}
	v.vol = found
	if svm := cmp.Or(found.SVM.Name, v.src.SVM); svm != "" {
		v.out.Array += ", SVM " + svm
	}
	v.out.Volume = &runfile.SurveyVolume{
		Name: found.Name, UUID: found.UUID, Export: found.NAS.Path, Style: found.Style, State: found.State,
		SizeBytes: found.Size.signed(), AvailableBytes: found.Space.Available.signed(),
		ExportPolicy: found.NAS.ExportPolicy.Name, Moving: found.Movement.running(),
	}
	if m := found.Movement; !m.running() && !m.over() {
		v.miss("whether the volume is being moved", fmt.Sprintf("movement.state %q is not known", m.State), "")
	}
	if len(found.Aggregates) == 1 {
		v.out.Volume.Aggregate = found.Aggregates[0].Name
	}
	if export != "" && found.NAS.Path != "" && clean(found.NAS.Path) != clean(export) {
		v.miss("counters of the export alone",
			fmt.Sprintf("export %s is not the junction %s of volume %s: the counters are those of the whole volume",
				export, found.NAS.Path, found.Name), "")
	}
	return nil
}

func (v *survey) owner(ctx context.Context) error {
	owners, err := v.aggregates(ctx)
	p := part{what: "node that owns the volume", api: apiAggregates, cluster: true}
	if node := owner(v.vol, owners); node != "" {
		v.out.Volume.Node = node
		return nil
	}
	if err == nil && v.vol.Style == "flexgroup" {
		return nil // a FlexGroup has no owner of its own
	}
	// The volume itself may tell, if this is a newer ONTAP.
	var nodesErr error
	if v.vol.Nodes, nodesErr = v.volumeNodes(ctx, v.vol.UUID); nodesErr != nil {
		return v.try(p, nodesErr)
	}
	if v.out.Volume.Node = owner(v.vol, owners); v.out.Volume.Node != "" || len(v.vol.Nodes) > 1 {
		return nil
	}
	if err == nil {
		err = storage.Permanent(fmt.Errorf(
			"neither volume %s nor an aggregate that the account may see tells it", v.vol.Name))
	}
	return v.try(p, err)
}

func (v *survey) nodes(ctx context.Context) error {
	p := part{what: "CPU of the nodes", api: apiNodes, cluster: true}
	nodes, err := list[node](ctx, v.Source, apiNodes,
		url.Values{"fields": fields("name", "state", "model", "statistics")})
	if err != nil {
		return v.try(p, err)
	}
	for _, n := range nodes {
		o := runfile.SurveyNode{Name: n.Name, Model: n.Model}
		if n.State != "" && n.State != "unknown" {
			o.Up = new(n.State == "up")
		}
		v.out.Nodes = append(v.out.Nodes, o)
	}
	slices.SortFunc(v.out.Nodes, func(a, b runfile.SurveyNode) int { return cmp.Compare(a.Name, b.Name) })
	if !slices.ContainsFunc(nodes, node.measured) {
		v.miss(p.what, "no node that the account may see tells its processor counters", fix(p.api)+clusterOnly)
	}
	return nil
}

func (v *survey) lifs(ctx context.Context) error {
	lifs, err := list[lif](ctx, v.Source, apiLIFs, v.lifQuery("name", "ip.address", "ip.netmask", "enabled", "state",
		"location.node.name", "location.home_node.name", "location.is_home"))
	if err != nil {
		return v.try(part{what: "LIFs and their nodes", api: apiLIFs}, err)
	}
	if slices.ContainsFunc(lifs, func(l lif) bool { return l.IP.Address == "" }) {
		// The list would say that the array lacks an address that it has.
		return v.try(part{what: "LIFs and their nodes"}, untold("ip.address of a LIF"))
	}
	for _, l := range lifs {
		o := runfile.LIF{
			Name: l.Name, Address: l.IP.Address, Prefix: int32(l.IP.Netmask),
			Node: l.Location.Node.Name, HomeNode: l.Location.HomeNode.Name, AtHome: l.Location.IsHome,
		}
		if l.Enabled != nil && (l.State == "up" || l.State == "down") {
			o.Up = new(*l.Enabled && l.State == "up")
		}
		v.out.LIFs = append(v.out.LIFs, o)
	}
	slices.SortFunc(v.out.LIFs, func(a, b runfile.LIF) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Address, b.Address))
	})
	return nil
}

// service reads the NFS settings of the SVM. An SVM on which NFS was never set up has no record and serves no
// NFS.
func (v *survey) service(ctx context.Context) error {
	all, err := list[nfsService](ctx, v.Source, apiServices, v.ofSVM(url.Values{"fields": fields("enabled", "state",
		"protocol.v3_enabled", "protocol.v40_enabled", "protocol.v41_enabled", "protocol.v41_features.pnfs_enabled",
		"transport.tcp_max_transfer_size")}))
	if err != nil {
		return v.try(part{what: "settings of the NFS service", api: apiNFS}, err)
	}
	switch len(all) {
	case 0:
		v.out.NFS = &runfile.NFSService{Enabled: new(false)}
		return nil
	case 1:
	default:
		return v.try(part{what: "settings of the NFS service"}, untold("svm.name of the volume"))
	}
	n := all[0]
	v.out.NFS = &runfile.NFSService{
		Enabled: n.Enabled, V3: n.Protocol.V3, V40: n.Protocol.V40, V41: n.Protocol.V41,
		PNFS: n.Protocol.V41Features.PNFS, TransferSizeBytes: n.Transport.MaxTransfer.positive(),
	}
	if n.State == "offline" {
		v.out.NFS.Enabled = new(false)
	}
	return nil
}

// policy returns the export policy of the export: a qtree may have another one than its volume.
func (v *survey) policy(ctx context.Context, export string) (exportPolicy, error) {
	own, junction := v.vol.NAS.ExportPolicy, clean(v.vol.NAS.Path)
	if export == "" || clean(export) == junction {
		return own, nil
	}
	below, is := strings.CutPrefix(clean(export), strings.TrimSuffix(junction, "/")+"/")
	if !is || junction == "" {
		return own, storage.Permanent(fmt.Errorf("export %s is not below the junction of volume %s", export, v.vol.Name))
	}
	name, _, _ := strings.Cut(below, "/")
	qtrees, err := list[qtree](ctx, v.Source, apiQtrees, url.Values{
		"volume.uuid": {v.vol.UUID}, "name": {name},
		"fields": fields("name", "export_policy.name", "export_policy.id"),
	})
	if i := slices.IndexFunc(qtrees, func(q qtree) bool { return q.Name == name }); i >= 0 {
		return qtrees[i].ExportPolicy, nil
	}
	return own, err // without a qtree it is a directory of the volume
}

// rules reads the rules from their own collection, because the list inside the policy may be cut or missing.
func (v *survey) rules(ctx context.Context, export string) error {
	policy, err := v.policy(ctx, export)
	if err == nil && (policy.Name == "" || !policy.ID.ok) {
		err = untold("export_policy")
	}
	if err != nil {
		return v.try(part{what: "export rules", api: apiQtrees}, err)
	}
	v.out.Volume.ExportPolicy = policy.Name
	all, err := list[exportRule](ctx, v.Source, fmt.Sprintf("%s/%d/rules", apiExportPolicy, policy.ID.n),
		url.Values{"fields": fields("index", "clients", "protocols", "ro_rule", "rw_rule", "superuser")})
	if err != nil {
		return v.try(part{what: "rules of export policy " + policy.Name, api: apiNFS}, err)
	}
	if slices.ContainsFunc(all, func(r exportRule) bool { return r.Index == nil }) {
		return v.try(part{what: "rules of export policy " + policy.Name}, untold("index"))
	}
	v.out.Rules = []runfile.ExportRule{}
	for _, r := range all {
		o := runfile.ExportRule{
			Index: *r.Index, Clients: []string{}, Protocols: r.Protocols, ReadOnly: r.ReadOnly,
			ReadWrite: r.ReadWrite, SuperUser: r.SuperUser,
		}
		for _, c := range r.Clients {
			o.Clients = append(o.Clients, c.Match)
		}
		v.out.Rules = append(v.out.Rules, o)
	}
	slices.SortFunc(v.out.Rules, func(a, b runfile.ExportRule) int { return cmp.Compare(a.Index, b.Index) })
	return nil
}

// qos reads the ceiling of the volume. The volume itself reports it only for a policy of its own. An adaptive
// policy depends on the size and is not computed.
func (v *survey) qos(ctx context.Context) error {
	own := v.vol.QoS.Policy
	if own.Name == "" && own.MaxIOPS.positive() == nil && own.MaxMBPS.positive() == nil {
		return nil
	}
	q := &runfile.QoS{Policy: own.Name, MaxIOPS: own.MaxIOPS.positive(), MaxBytesPerSecond: megabytes(own.MaxMBPS)}
	v.out.Volume.QoS = q
	if q.MaxIOPS != nil || q.MaxBytesPerSecond != nil {
		return nil
	}
	p := part{what: "ceiling of QoS policy " + own.Name, api: apiQoS}
	all, err := list[qosGroup](ctx, v.Source, apiQoS,
		url.Values{"name": {own.Name}, "fields": fields("fixed", "adaptive")})
	if err != nil {
		return v.try(p, err)
	}
	switch {
	case len(all) == 1 && all[0].Adaptive != nil:
		v.miss(p.what, "it is adaptive: its ceiling grows with the volume", "")
	case len(all) == 1 && all[0].Fixed != nil && all[0].Fixed.told():
		q.MaxIOPS, q.MaxBytesPerSecond = all[0].Fixed.MaxIOPS.positive(), megabytes(all[0].Fixed.MaxMBPS)
	default:
		return v.try(p, untold(fmt.Sprintf("a fixed throughput, highest or lowest, of one policy (records: %d)", len(all))))
	}
	return nil
}

// megabytes converts units of 10^6 bytes: if ONTAP means 2^20, the ceiling is 5 % higher.
func megabytes(c count) *int64 {
	n := c.positive()
	if n == nil || *n > 1<<40 {
		return nil
	}
	return new(*n * 1_000_000)
}

// clusterOnly follows a fix that is impossible for an account of an SVM.
const clusterOnly = "; an account of an SVM cannot be given this: use the management LIF of the cluster and an " +
	"account of the cluster"

// fix returns the command that lets the account read api.
func fix(api string) string {
	return fmt.Sprintf("security login rest-role create -role nfsbench -api %s -access readonly (nfsbench = the role "+
		"of the account)", api)
}

// part is an optional part of a survey.
type part struct {
	what string
	api  string // to be allowed in the role
	// cluster means that an account of an SVM never sees the part.
	cluster bool
}
