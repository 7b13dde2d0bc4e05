package ontap

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

func volumeCollection() *collection {
	c := &collection{
		path: "/storage/volumes", one: "uuid", keys: []string{"name", "uuid"},
		fields: []string{
			"svm.name", "svm.uuid", "style", "type", "state", "size", "space.size", "space.available", "space.used",
			"aggregates.name", "aggregates.uuid", "nas.export_policy.name", "nas.export_policy.id", "nas.security_style",
			"qos.policy.name", "qos.policy.uuid", "qos.policy.max_throughput_iops", "qos.policy.max_throughput_mbps",
			"nas.path", "movement.state", "movement.percent_complete", "movement.start_time", "movement.cutover_window",
			"movement.destination_aggregate.name", "movement.destination_aggregate.uuid", "statistics.timestamp", "statistics.status",
		},
		dear: []string{"nas.path", "movement", "statistics"},
		list: func(q query) []record {
			var all []record
			for _, v := range sorted(q.model.Volumes, func(v Volume) string { return v.Name }) {
				all = append(all, q.volume(v))
			}
			return all
		},
	}
	for _, counter := range []string{"iops_raw", "latency_raw", "throughput_raw"} {
		for _, kind := range []string{"read", "write", "other", "total"} {
			c.fields = append(c.fields, "statistics."+counter+"."+kind)
		}
	}
	return c
}

func (v Volume) id() string { return cmp.Or(v.UUID, uuidOf("volume", v.SVM+":"+v.Name)) }

func (q query) volume(v Volume) record {
	svm := cmp.Or(v.SVM, q.model.SVM)
	r := record{
		"name": v.Name, "uuid": v.id(), "svm.name": svm, "svm.uuid": uuidOf("svm", svm), "type": "rw",
		"style": word(len(v.Aggregates) > 1, "flexgroup", "flexvol"), "state": cmp.Or(v.State, "online"),
		"size": v.SizeBytes, "space.size": v.SizeBytes, "space.used": v.UsedBytes, "space.available": v.SizeBytes - v.UsedBytes,
		"nas.security_style": "unix",
	}
	var aggregates []any
	for _, a := range v.Aggregates {
		aggregates = append(aggregates, map[string]any{"name": a, "uuid": uuidOf("aggregate", a)})
	}
	r["aggregates"] = aggregates
	if v.Junction != "" {
		r["nas.path"] = v.Junction
	}
	if v.ExportPolicy != "" {
		r["nas.export_policy.name"], r["nas.export_policy.id"] = v.ExportPolicy, policyID(q.model, v.ExportPolicy)
	}
	// A volume has the name of its policy group; the ceiling is in another collection.
	if v.QoSPolicy != "" {
		r["qos.policy.name"], r["qos.policy.uuid"] = v.QoSPolicy, uuidOf("qos", v.QoSPolicy)
	}
	q.s.tellMove(r, v)
	q.count(r, q.volumes[v.Name])
	return r
}

func (q query) count(r record, c VolumeCounters) {
	q.stamp(r, StatisticsVolumes)
	var total OpCounters
	tell := func(kind string, o OpCounters) {
		r["statistics.iops_raw."+kind] = o.Ops
		r["statistics.latency_raw."+kind] = o.LatencyMicros
		r["statistics.throughput_raw."+kind] = o.Bytes
	}
	for kind, o := range map[string]OpCounters{"read": c.Read, "write": c.Write, "other": c.Other} {
		tell(kind, o)
		total = OpCounters{total.Ops + o.Ops, total.Bytes + o.Bytes, total.LatencyMicros + o.LatencyMicros}
	}
	tell("total", total)
}

func serviceCollection() *collection {
	return &collection{
		path: "/protocols/nfs/services", one: "svm.uuid", keys: []string{"svm.name", "svm.uuid"},
		fields: []string{
			"enabled", "state", "protocol.v3_enabled", "protocol.v40_enabled", "protocol.v41_enabled", "protocol.v41_features.pnfs_enabled",
			"protocol.v41_features.read_delegation_enabled", "protocol.v41_features.write_delegation_enabled", "protocol.v41_features.referrals_enabled",
			"protocol.v4_id_domain", "protocol.v4_lease_seconds", "protocol.v4_grace_seconds", "protocol.v4_session_slots",
			"protocol.v3_features.mount_root_only", "transport.tcp_enabled", "transport.udp_enabled", "transport.tcp_max_transfer_size",
		},
		list: func(q query) []record {
			n := q.model.NFS
			if n.Absent {
				return nil
			}
			r := record{
				"svm.name": q.model.SVM, "svm.uuid": uuidOf("svm", q.model.SVM), "enabled": n.Enabled, "state": word(n.Enabled, "online", "offline"),
				"protocol.v3_enabled": n.V3, "protocol.v40_enabled": n.V40, "protocol.v41_enabled": n.V41, "protocol.v41_features.pnfs_enabled": n.PNFS,
				"protocol.v41_features.read_delegation_enabled": false, "protocol.v41_features.write_delegation_enabled": false,
				"protocol.v41_features.referrals_enabled": false, "protocol.v4_id_domain": "defaultv4iddomain.com",
				"protocol.v4_lease_seconds": 30, "protocol.v4_grace_seconds": 45, "protocol.v4_session_slots": 180,
				"protocol.v3_features.mount_root_only": true, "transport.tcp_enabled": true, "transport.udp_enabled": false,
			}
			if n.TransferSizeBytes > 0 {
				r["transport.tcp_max_transfer_size"] = n.TransferSizeBytes
			}
			return []record{r}
		},
	}
}

func policyCollection() *collection {
	return &collection{
		path: "/protocols/nfs/export-policies", one: "id", keys: []string{"name", "id"},
		fields: append([]string{"svm.name", "svm.uuid"}, ruleFields("rules.")...),
		list: func(q query) []record {
			var all []record
			for _, p := range q.model.Policies {
				all = append(all, record{
					"name": p.Name, "id": policyID(q.model, p.Name), "svm.name": q.model.SVM, "svm.uuid": uuidOf("svm", q.model.SVM), "rules": rules(p),
				})
			}
			return all
		},
	}
}

func ruleFields(prefix string) []string {
	var all []string
	for _, f := range []string{"index", "clients.match", "protocols", "ro_rule", "rw_rule", "superuser", "anonymous_user"} {
		all = append(all, prefix+f)
	}
	return all
}

// ruleCollection is the rules of one policy.
func ruleCollection() *collection {
	return &collection{
		path: "/protocols/nfs/export-policies/{}/rules", one: "index", keys: []string{"index"}, fields: ruleFields(""),
		list: func(q query) []record {
			var all []record
			for _, p := range q.model.Policies {
				if strconv.FormatInt(policyID(q.model, p.Name), 10) != q.parent {
					continue
				}
				for _, r := range rules(p) {
					all = append(all, r.(map[string]any))
				}
			}
			return all
		},
	}
}

// policyID is a number that ONTAP gives to a policy.
func policyID(m Model, name string) int64 {
	i := slices.IndexFunc(m.Policies, func(p ExportPolicy) bool { return p.Name == name })
	return 12884901889 + int64(i)
}

func rules(p ExportPolicy) []any {
	var all []any
	for _, r := range p.Rules {
		var clients []any
		for _, c := range r.Clients {
			clients = append(clients, map[string]any{"match": c})
		}
		all = append(all, map[string]any{
			"index": r.Index, "clients": clients, "protocols": anys(r.Protocols), "ro_rule": anys(r.ReadOnly), "rw_rule": anys(r.ReadWrite),
			"superuser": anys(r.SuperUser), "anonymous_user": "65534",
		})
	}
	return all
}

func qosCollection() *collection {
	return &collection{
		path: "/storage/qos/policies", one: "uuid", keys: []string{"name", "uuid"},
		fields: []string{
			"svm.name", "svm.uuid", "policy_class", "object_count", "fixed.max_throughput_iops", "fixed.max_throughput_mbps", "fixed.capacity_shared",
			"adaptive.expected_iops", "adaptive.peak_iops",
		},
		list: func(q query) []record {
			var all []record
			for _, p := range q.model.QoS {
				svm := cmp.Or(p.SVM, q.model.SVM)
				r := record{"name": p.Name, "uuid": uuidOf("qos", p.Name), "svm.name": svm, "svm.uuid": uuidOf("svm", svm), "policy_class": "user_defined"}
				if p.AdaptivePeakIOPS > 0 {
					r["adaptive.peak_iops"], r["adaptive.expected_iops"] = p.AdaptivePeakIOPS, p.AdaptivePeakIOPS/2
				} else {
					r["fixed.max_throughput_iops"], r["fixed.max_throughput_mbps"], r["fixed.capacity_shared"] = p.MaxIOPS, p.MaxMegabytes, false
				}
				all = append(all, r)
			}
			return all
		},
	}
}

// rfc3339 is how ONTAP writes times.
func rfc3339(t time.Time) string { return t.UTC().Format(time.RFC3339) }
