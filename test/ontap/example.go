package ontap

// Example is an array of two nodes with one SVM that serves one volume, vol1,
// from the first node, by one LIF on each node. A second SVM has a volume and a
// LIF of its own, which nobody who asks for the first one may meet.
func Example(accounts ...Account) Model {
	return Model{
		Cluster: "naclu1", SVM: "vsdb122b",
		Nodes: []Node{{Name: "naclu1-02", Model: "FAS3170"}, {Name: "naclu1-01", Model: "FAS3170"}},
		Aggregates: []Aggregate{
			{Name: "aggr_a", Node: "naclu1-01"}, {Name: "aggr_b", Node: "naclu1-02"},
		},
		LIFs: []LIF{
			{Name: "lif_b", Address: "192.0.2.12", Prefix: 24, HomeNode: "naclu1-02"},
			{Name: "lif_a", Address: "192.0.2.11", Prefix: 24, HomeNode: "naclu1-01"},
			{Name: "lif_mgmt", Address: "192.0.2.10", Prefix: 24, HomeNode: "naclu1-01", Services: []string{"management_https"}},
			{Name: "lif_other", Address: "192.0.2.99", Prefix: 24, HomeNode: "naclu1-01", SVM: "other"},
		},
		Volumes: []Volume{
			{Name: "vol1", Junction: "/vol1", Aggregates: []string{"aggr_a"}, SizeBytes: 100 << 30, UsedBytes: 40 << 30, ExportPolicy: "bench"},
			{Name: "vol1", Junction: "/vol1", Aggregates: []string{"aggr_b"}, SizeBytes: 1 << 30, ExportPolicy: "default", SVM: "other"},
			{Name: "vsdb122b_root", Junction: "/", Aggregates: []string{"aggr_a"}, SizeBytes: 1 << 30, ExportPolicy: "default"},
		},
		NFS: NFSService{Enabled: true, V3: true, V41: true, TransferSizeBytes: 65536},
		Policies: []ExportPolicy{
			{Name: "default"},
			{Name: "bench", Rules: []Rule{
				{Index: 2, Clients: []string{"198.51.100.0/24"}, Protocols: []string{"nfs3"}, ReadOnly: []string{"sys"}, ReadWrite: []string{"none"}, SuperUser: []string{"none"}},
				{Index: 1, Clients: []string{"10.0.0.0/8", "@hosts"}, Protocols: []string{"nfs"}, ReadOnly: []string{"any"}, ReadWrite: []string{"sys"}, SuperUser: []string{"sys"}},
			}},
		},
		Accounts: accounts,
	}
}
