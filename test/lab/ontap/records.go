package ontap

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// collections are the supported collections, with the fields that the adapter wants from each.
func collections() []*collection {
	return []*collection{{
		path: "/cluster", alone: true, keys: []string{"name", "uuid"},
		fields: []string{"version.full", "version.generation", "version.major", "version.minor", "contact", "location"},
		list: func(q query) []record {
			name := q.model.Cluster
			if !strings.Contains(name, mark) {
				name += "-" + mark
			}
			return []record{{
				"name": name, "uuid": uuidOf("cluster", q.model.Cluster), "contact": "nfsbench stand-in", "location": "simulated",
				"version.full": Version, "version.generation": 9, "version.major": 14, "version.minor": 1,
			}}
		},
	}, {
		path: "/cluster/nodes", one: "uuid", keys: []string{"name", "uuid"},
		fields: []string{
			"state", "model", "version.full", "statistics.timestamp", "statistics.status",
			"statistics.processor_utilization_raw", "statistics.processor_utilization_base",
		},
		dear: []string{"statistics"},
		list: func(q query) []record { return each(q.model.Nodes, q.node) },
	}, jobCollection(), {
		path: "/network/ip/interfaces", one: "uuid", keys: []string{"name", "uuid"},
		fields: []string{
			"ip.address", "ip.family", "ip.netmask", "enabled", "state", "services", "scope", "svm.name", "svm.uuid",
			"location.node.name", "location.node.uuid", "location.port.name", "location.home_node.name", "location.home_node.uuid",
			"location.home_port.name", "location.is_home", "statistics.timestamp", "statistics.status",
			"statistics.throughput_raw.read", "statistics.throughput_raw.write", "statistics.throughput_raw.total",
		},
		dear: []string{"statistics"},
		list: func(q query) []record { return each(q.model.LIFs, q.lif) },
	}, {
		path: "/storage/aggregates", one: "uuid", keys: []string{"name", "uuid"},
		fields: []string{"state", "node.name", "node.uuid", "home_node.name", "home_node.uuid"},
		list: func(q query) []record {
			return each(q.model.Aggregates, func(a Aggregate) record {
				return record{
					"name": a.Name, "uuid": uuidOf("aggregate", a.Name), "state": "online", "node.name": a.Node,
					"node.uuid": uuidOf("node", a.Node), "home_node.name": a.Node, "home_node.uuid": uuidOf("node", a.Node),
				}
			})
		},
	}, {
		path: "/storage/volumes", one: "uuid", keys: []string{"name", "uuid"},
		fields: []string{
			"svm.name", "svm.uuid", "style", "type", "state", "size", "space.size", "space.available", "space.used",
			"aggregates.name", "aggregates.uuid", "nas.export_policy.name", "nas.export_policy.id", "nas.security_style",
			"qos.policy.name", "qos.policy.uuid", "qos.policy.max_throughput_iops", "qos.policy.max_throughput_mbps",
			"nas.path", "movement.state", "movement.percent_complete", "movement.destination_aggregate.name",
			"movement.destination_aggregate.uuid", "statistics.timestamp", "statistics.status",
			"statistics.iops_raw.read", "statistics.iops_raw.write", "statistics.iops_raw.other", "statistics.iops_raw.total",
			"statistics.latency_raw.read", "statistics.latency_raw.write", "statistics.latency_raw.other", "statistics.latency_raw.total",
			"statistics.throughput_raw.read", "statistics.throughput_raw.write", "statistics.throughput_raw.other",
			"statistics.throughput_raw.total",
		},
		dear: []string{"nas.path", "movement", "statistics"},
		list: func(q query) []record { return each(q.model.Volumes, q.volume) },
	}, {
		path: "/protocols/nfs/services", one: "svm.uuid", keys: []string{"svm.name", "svm.uuid"},
		fields: []string{
			"enabled", "state", "protocol.v3_enabled", "protocol.v40_enabled", "protocol.v41_enabled", "protocol.v41_features.pnfs_enabled",
			"transport.tcp_enabled", "transport.udp_enabled", "transport.tcp_max_transfer_size",
		},
		list: func(q query) []record {
			n := q.model.NFS
			if n.Absent {
				return nil
			}
			r := q.ofSVM("", record{
				"enabled": n.Enabled, "state": word(n.Enabled, "online", "offline"), "transport.tcp_enabled": true, "transport.udp_enabled": false,
				"protocol.v3_enabled": n.V3, "protocol.v40_enabled": n.V40, "protocol.v41_enabled": n.V41, "protocol.v41_features.pnfs_enabled": n.PNFS,
			})
			if n.TransferSizeBytes > 0 {
				r["transport.tcp_max_transfer_size"] = n.TransferSizeBytes
			}
			return []record{r}
		},
	}, {
		path: "/protocols/nfs/connected-clients", keys: []string{"client_ip", "svm.name", "node.name", "server_ip"},
		fields: []string{
			"svm.uuid", "node.uuid", "protocol", "volume.name", "idle_duration", "local_request_count", "remote_request_count", "export_policy.name", "volume.uuid",
		},
		dear: []string{"volume.uuid"},
		list: func(q query) []record {
			var all []record
			for _, c := range q.s.truth.Clients() {
				all = append(all, q.client(c))
			}
			return all
		},
	}, {
		path: "/storage/qtrees", keys: []string{"id", "name", "svm.name", "svm.uuid", "volume.name", "volume.uuid"},
		fields: []string{"export_policy.name", "export_policy.id"},
		list:   query.qtrees,
	}, {
		path: "/storage/qos/policies", one: "uuid", keys: []string{"name", "uuid"},
		fields: []string{
			"svm.name", "svm.uuid", "policy_class", "object_count", "fixed.max_throughput_iops", "fixed.max_throughput_mbps", "fixed.capacity_shared",
			"adaptive.expected_iops", "adaptive.peak_iops",
		},
		list: func(q query) []record {
			var all []record
			for _, p := range q.model.QoS {
				all = append(all, q.ofSVM(p.SVM, record{
					"name": p.Name, "uuid": uuidOf("qos", p.Name), "policy_class": "user_defined", "fixed.max_throughput_iops": p.MaxIOPS,
					"fixed.max_throughput_mbps": p.MaxMegabytes, "fixed.capacity_shared": false,
				}))
			}
			return all
		},
	}}
}

// each makes the records of things, sorted by name.
func each[T any](all []T, tell func(T) record) []record {
	var records []record
	for _, one := range all {
		records = append(records, tell(one))
	}
	slices.SortStableFunc(records, func(a, b record) int { return cmp.Compare(a["name"].(string), b["name"].(string)) })
	return records
}

// ofSVM adds the SVM to a record; empty = that of the model.
func (q query) ofSVM(svm string, r record) record {
	svm = cmp.Or(svm, q.model.SVM)
	r["svm.name"], r["svm.uuid"] = svm, uuidOf("svm", svm)
	return r
}

// stampOf formats a time as coarsely as ONTAP.
func (q query) stampOf(at time.Time) string {
	slot := at.UTC().Truncate(q.s.opt.Grid)
	return slot.Add(at.Sub(slot).Truncate(q.s.stampStep())).Format(time.RFC3339Nano)
}

// stamp writes when and how well statistics were read.
func (q query) stamp(r record, part string) {
	r["statistics.timestamp"], r["statistics.status"] = q.stampOf(q.at), cmp.Or(q.status[part], "ok")
}

func (q query) node(n Node) record {
	c := q.nodes[n.Name]
	r := record{
		"name": n.Name, "uuid": uuidOf("node", n.Name), "model": cmp.Or(n.Model, "stand-in"),
		"state": word(n.Down, "down", "up"), "version.full": Version,
	}
	if !n.Down {
		q.stamp(r, StatisticsNodes)
		r["statistics.processor_utilization_raw"], r["statistics.processor_utilization_base"] = c.BusyMicros, c.BaseMicros
	}
	return r
}

func (q query) lif(l LIF) record {
	services := l.Services
	if services == nil {
		services = []string{"data_core", "data_nfs"}
	}
	home, node := l.HomeNode, cmp.Or(l.Node, l.HomeNode)
	c := q.lifs[l.Address]
	r := q.ofSVM(l.SVM, record{
		"name": l.Name, "uuid": uuidOf("lif", l.Name), "scope": "svm", "ip.address": l.Address,
		"ip.family": word(strings.Contains(l.Address, ":"), "ipv6", "ipv4"), "ip.netmask": fmt.Sprint(l.Prefix),
		"enabled": !l.Disabled, "state": word(l.Down || l.Disabled, "down", "up"), "services": anys(services),
		"location.node.name": node, "location.node.uuid": uuidOf("node", node), "location.port.name": "e0d",
		"location.home_node.name": home, "location.home_node.uuid": uuidOf("node", home), "location.home_port.name": "e0d",
		"location.is_home": node == home,
		// Read is what the clients read: the LIF sends it.
		"statistics.throughput_raw.read": c.SentBytes, "statistics.throughput_raw.write": c.ReceivedBytes,
		"statistics.throughput_raw.total": c.SentBytes + c.ReceivedBytes,
	})
	q.stamp(r, StatisticsLIFs)
	return r
}

func (q query) client(c Client) record {
	r := q.ofSVM("", record{
		"client_ip": c.ClientIP, "server_ip": c.ServerIP, "protocol": c.Protocol, "volume.name": c.Volume, "idle_duration": "PT0S",
		"local_request_count": c.LocalRequests, "remote_request_count": c.RemoteRequests,
	})
	for _, l := range q.model.LIFs {
		if l.Address == c.ServerIP {
			r["node.name"] = cmp.Or(l.Node, l.HomeNode)
		}
	}
	for _, v := range q.model.Volumes {
		if v.Name == c.Volume {
			r["volume.uuid"], r["export_policy.name"] = v.id(), v.ExportPolicy
		}
	}
	return r
}

func word(yes bool, one, other string) string {
	if yes {
		return one
	}
	return other
}

func anys[T any](all []T) []any {
	list := []any{}
	for _, one := range all {
		list = append(list, one)
	}
	return list
}

func (v Volume) id() string { return cmp.Or(v.UUID, uuidOf("volume", v.SVM+":"+v.Name)) }

func (q query) volume(v Volume) record {
	r := q.ofSVM(v.SVM, record{
		"name": v.Name, "uuid": v.id(), "type": "rw",
		"style": word(len(v.Aggregates) > 1, "flexgroup", "flexvol"), "state": cmp.Or(v.State, "online"),
		"size": v.SizeBytes, "space.size": v.SizeBytes, "space.used": v.UsedBytes, "space.available": v.SizeBytes - v.UsedBytes,
		"nas.security_style": "unix",
	})
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
	q.stamp(r, StatisticsVolumes)
	if at := q.dates[v.Name]; !at.IsZero() {
		r["statistics.timestamp"] = q.stampOf(at)
	}
	c := q.volumes[v.Name]
	for kind, o := range map[string]OpCounters{"read": c.Read, "write": c.Write, "other": c.Other, "total": c.Read.Plus(c.Write).Plus(c.Other)} {
		r["statistics.iops_raw."+kind] = o.Ops
		r["statistics.latency_raw."+kind] = o.LatencyMicros
		r["statistics.throughput_raw."+kind] = o.Bytes
	}
	return r
}

// policyID is a number that ONTAP gives to a policy.
func policyID(m Model, name string) int64 {
	i := slices.IndexFunc(m.Policies, func(p ExportPolicy) bool { return p.Name == name })
	return 12884901889 + int64(i)
}

// rulesOf are those of the export policy with an ID.
func rulesOf(id string) *collection {
	return &collection{
		keys:   []string{"index", "policy.id"},
		fields: []string{"svm.name", "svm.uuid", "clients", "protocols", "ro_rule", "rw_rule", "superuser", "anonymous_user"},
		list: func(q query) []record {
			var all []record
			for _, p := range q.model.Policies {
				if fmt.Sprint(policyID(q.model, p.Name)) != id {
					continue
				}
				for _, r := range p.Rules {
					var clients []any
					for _, c := range r.Clients {
						clients = append(clients, map[string]any{"match": c})
					}
					all = append(all, q.ofSVM("", record{
						"index": r.Index, "policy.id": policyID(q.model, p.Name), "clients": clients, "protocols": anys(r.Protocols),
						"ro_rule": anys(r.ReadOnly), "rw_rule": anys(r.ReadWrite), "superuser": anys(r.SuperUser), "anonymous_user": "65534",
					}))
				}
			}
			return all
		},
	}
}

func (q query) qtrees() []record {
	var all []record
	for i, t := range q.model.Qtrees {
		for _, v := range q.model.Volumes {
			if v.Name == t.Volume {
				all = append(all, q.ofSVM(v.SVM, record{
					"id": i + 1, "name": t.Name, "volume.name": v.Name, "volume.uuid": v.id(),
					"export_policy.name": t.ExportPolicy, "export_policy.id": policyID(q.model, t.ExportPolicy),
				}))
			}
		}
	}
	return all
}
