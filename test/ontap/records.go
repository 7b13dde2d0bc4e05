package ontap

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// collections are all kinds of records that the stand-in has.
func collections() []*collection {
	return []*collection{
		clusterCollection(), nodeCollection(), jobCollection(), lifCollection(), aggregateCollection(), volumeCollection(),
		serviceCollection(), policyCollection(), ruleCollection(), clientCollection(), qosCollection(), svmCollection(),
		tableCollection(), rowCollection(),
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
			"state", "model", "version.full", "ha.partners.name", "ha.partners.uuid", "membership",
			"statistics.timestamp", "statistics.status", "statistics.processor_utilization_raw", "statistics.processor_utilization_base",
		},
		dear: []string{"statistics"},
		list: func(q query) []record {
			var all []record
			for _, n := range sorted(q.model.Nodes, func(n Node) string { return n.Name }) {
				c := q.nodes[n.Name]
				r := record{
					"name": n.Name, "uuid": uuidOf("node", n.Name), "model": cmp.Or(n.Model, "stand-in"), "membership": "member",
					"state": word(n.Down, "down", "up"), "version.full": Version, "ha.partners": partners(q.model.Nodes, n.Name),
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

func partners(nodes []Node, name string) []any {
	var all []any
	for _, n := range nodes {
		if n.Name != name {
			all = append(all, map[string]any{"name": n.Name, "uuid": uuidOf("node", n.Name)})
		}
	}
	return all
}

// stamp writes when and how well statistics were read.
func (q query) stamp(r record, part string) {
	r["statistics.timestamp"], r["statistics.status"] = q.at.UTC().Format(time.RFC3339Nano), q.status[part]
}

func lifCollection() *collection {
	return &collection{
		path: "/network/ip/interfaces", one: "uuid", keys: []string{"name", "uuid"},
		fields: []string{
			"ip.address", "ip.family", "ip.netmask", "enabled", "state", "services", "scope", "svm.name", "svm.uuid",
			"location.node.name", "location.node.uuid", "location.port.name", "location.home_node.name", "location.home_node.uuid",
			"location.home_port.name", "location.is_home", "location.auto_revert", "service_policy.name",
			"statistics.timestamp", "statistics.status",
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
	homePort := cmp.Or(l.HomePort, "e0d")
	port := cmp.Or(l.Port, homePort)
	c := q.lifs[l.Address]
	svm := cmp.Or(l.SVM, q.model.SVM)
	r := record{
		"name": l.Name, "uuid": uuidOf("lif", l.Name), "svm.name": svm, "svm.uuid": uuidOf("svm", svm), "scope": "svm",
		"ip.address": l.Address, "ip.family": family(l.Address), "ip.netmask": strconv.Itoa(l.Prefix),
		"enabled": !l.Disabled, "state": word(l.Down || l.Disabled, "down", "up"), "services": anys(services),
		"location.node.name": node, "location.node.uuid": uuidOf("node", node), "location.port.name": port,
		"location.home_node.name": home, "location.home_node.uuid": uuidOf("node", home), "location.home_port.name": homePort,
		"location.is_home": node == home && port == homePort, "location.auto_revert": false, "service_policy.name": "default-data-files",
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

func svmCollection() *collection {
	return &collection{
		path: "/svm/svms", one: "uuid", keys: []string{"name", "uuid"}, fields: []string{"state", "subtype", "svm.name"},
		list: func(q query) []record {
			name := q.model.SVM
			return []record{{"name": name, "uuid": uuidOf("svm", name), "state": "running", "subtype": "default", "svm.name": name}}
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

func family(address string) string {
	return word(slices.Contains([]byte(address), ':'), "ipv6", "ipv4")
}

func anys[T any](all []T) []any {
	list := make([]any, 0, len(all))
	for _, one := range all {
		list = append(list, one)
	}
	return list
}
