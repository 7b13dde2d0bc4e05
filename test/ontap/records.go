package ontap

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

func collections() []*collection {
	return []*collection{
		clusterCollection(), nodeCollection(), jobCollection(), lifCollection(), aggregateCollection(), volumeCollection(),
		serviceCollection(), policyCollection(), clientCollection(), qosCollection(),
	}
}

func clusterCollection() *collection {
	return &collection{
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
	}
}

func nodeCollection() *collection {
	return &collection{
		path: "/cluster/nodes", one: "uuid", keys: []string{"name", "uuid"},
		fields: []string{
			"state", "model", "version.full", "statistics.timestamp", "statistics.status",
			"statistics.processor_utilization_raw", "statistics.processor_utilization_base",
		},
		dear: []string{"statistics"},
		list: func(q query) []record {
			var all []record
			for _, n := range sorted(q.model.Nodes, func(n Node) string { return n.Name }) {
				c := q.nodes[n.Name]
				r := record{
					"name": n.Name, "uuid": uuidOf("node", n.Name), "model": cmp.Or(n.Model, "stand-in"),
					"state": word(n.Down, "down", "up"), "version.full": Version,
				}
				if !n.Down {
					q.stamp(r, StatisticsNodes)
					r["statistics.processor_utilization_raw"], r["statistics.processor_utilization_base"] = c.BusyMicros, c.BaseMicros
				}
				all = append(all, r)
			}
			return all
		},
	}
}

// stamp writes when and how well statistics were read.
func (q query) stamp(r record, part string) {
	r["statistics.timestamp"], r["statistics.status"] = q.at.UTC().Format(time.RFC3339Nano), cmp.Or(q.status[part], "ok")
}

func lifCollection() *collection {
	return &collection{
		path: "/network/ip/interfaces", one: "uuid", keys: []string{"name", "uuid"},
		fields: []string{
			"ip.address", "ip.family", "ip.netmask", "enabled", "state", "services", "scope", "svm.name", "svm.uuid",
			"location.node.name", "location.node.uuid", "location.port.name", "location.home_node.name", "location.home_node.uuid",
			"location.home_port.name", "location.is_home", "statistics.timestamp", "statistics.status",
			"statistics.throughput_raw.read", "statistics.throughput_raw.write", "statistics.throughput_raw.total",
		},
		dear: []string{"statistics"},
		list: func(q query) []record {
			var all []record
			for _, l := range sorted(q.model.LIFs, func(l LIF) string { return l.Name }) {
				all = append(all, q.lif(l))
			}
			return all
		},
	}
}

func (q query) lif(l LIF) record {
	services := l.Services
	if services == nil {
		services = []string{"data_core", "data_nfs"}
	}
	home, node := l.HomeNode, cmp.Or(l.Node, l.HomeNode)
	const port = "e0d"
	c := q.lifs[l.Address]
	svm := cmp.Or(l.SVM, q.model.SVM)
	r := record{
		"name": l.Name, "uuid": uuidOf("lif", l.Name), "svm.name": svm, "svm.uuid": uuidOf("svm", svm), "scope": "svm",
		"ip.address": l.Address, "ip.family": family(l.Address), "ip.netmask": strconv.Itoa(l.Prefix),
		"enabled": !l.Disabled, "state": word(l.Down || l.Disabled, "down", "up"), "services": anys(services),
		"location.node.name": node, "location.node.uuid": uuidOf("node", node), "location.port.name": port,
		"location.home_node.name": home, "location.home_node.uuid": uuidOf("node", home), "location.home_port.name": port,
		"location.is_home": node == home,
		// Read is what the clients read: the LIF sends it.
		"statistics.throughput_raw.read": c.SentBytes, "statistics.throughput_raw.write": c.ReceivedBytes,
		"statistics.throughput_raw.total": c.SentBytes + c.ReceivedBytes,
	}
	q.stamp(r, StatisticsLIFs)
	return r
}

func aggregateCollection() *collection {
	return &collection{
		path: "/storage/aggregates", one: "uuid", keys: []string{"name", "uuid"},
		fields: []string{"state", "node.name", "node.uuid", "home_node.name", "home_node.uuid"},
		list: func(q query) []record {
			var all []record
			for _, a := range sorted(q.model.Aggregates, func(a Aggregate) string { return a.Name }) {
				all = append(all, record{
					"name": a.Name, "uuid": uuidOf("aggregate", a.Name), "state": "online", "node.name": a.Node,
					"node.uuid": uuidOf("node", a.Node), "home_node.name": a.Node, "home_node.uuid": uuidOf("node", a.Node),
				})
			}
			return all
		},
	}
}

func clientCollection() *collection {
	return &collection{
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
	}
}

func (q query) client(c Client) record {
	r := record{
		"client_ip": c.ClientIP, "server_ip": c.ServerIP, "protocol": c.Protocol, "volume.name": c.Volume, "idle_duration": "PT0S",
		"local_request_count": c.LocalRequests, "remote_request_count": c.RemoteRequests,
		"svm.name": q.model.SVM, "svm.uuid": uuidOf("svm", q.model.SVM),
	}
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

func sorted[T any](all []T, name func(T) string) []T {
	return slices.SortedFunc(slices.Values(all), func(a, b T) int { return cmp.Compare(name(a), name(b)) })
}

func word(yes bool, one, other string) string {
	if yes {
		return one
	}
	return other
}

func family(address string) string { return word(strings.Contains(address, ":"), "ipv6", "ipv4") }

func anys[T any](all []T) []any {
	list := []any{}
	for _, one := range all {
		list = append(list, one)
	}
	return list
}

func volumeCollection() *collection {
	c := &collection{
		path: "/storage/volumes", one: "uuid", keys: []string{"name", "uuid"},
		fields: []string{
			"svm.name", "svm.uuid", "style", "type", "state", "size", "space.size", "space.available", "space.used",
			"aggregates.name", "aggregates.uuid", "nas.export_policy.name", "nas.export_policy.id", "nas.security_style",
			"qos.policy.name", "qos.policy.uuid", "qos.policy.max_throughput_iops", "qos.policy.max_throughput_mbps",
			"nas.path", "movement.state", "movement.percent_complete", "movement.destination_aggregate.name",
			"movement.destination_aggregate.uuid", "statistics.timestamp", "statistics.status",
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
		total = total.Plus(o)
	}
	tell("total", total)
}

func serviceCollection() *collection {
	return &collection{
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
			r := record{
				"svm.name": q.model.SVM, "svm.uuid": uuidOf("svm", q.model.SVM), "enabled": n.Enabled, "state": word(n.Enabled, "online", "offline"),
				"protocol.v3_enabled": n.V3, "protocol.v40_enabled": n.V40, "protocol.v41_enabled": n.V41, "protocol.v41_features.pnfs_enabled": n.PNFS,
				"transport.tcp_enabled": true, "transport.udp_enabled": false,
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
		fields: []string{
			"svm.name", "svm.uuid", "rules.index", "rules.clients.match", "rules.protocols", "rules.ro_rule", "rules.rw_rule",
			"rules.superuser", "rules.anonymous_user",
		},
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
				r["fixed.max_throughput_iops"], r["fixed.max_throughput_mbps"], r["fixed.capacity_shared"] = p.MaxIOPS, p.MaxMegabytes, false
				all = append(all, r)
			}
			return all
		},
	}
}
