package integration

// anArray is one that can be asked.
func anArray() map[string]any {
	return map[string]any{"credentialsSecretRef": map[string]any{"name": "ontap-readonly"}, "managementLIF": "10.0.9.1", "svm": "svm1"}
}

func certificate() string {
	return "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n"
}

// storageRefusals are those of Trident, of arrays, and of what goes together
// with them.
func storageRefusals() map[string]refusal {
	trident := func(path string) string { return "storage.trident." + path }
	prometheus := map[string]any{"url": "http://prometheus.monitoring:9090"}
	with := func(m map[string]any, key string, value any) map[string]any {
		out := map[string]any{key: value}
		for k, v := range m {
			if _, is := out[k]; !is {
				out[k] = v
			}
		}
		return out
	}
	return map[string]refusal{
		"ClassAndClaim": {
			"give exactly one of storage.storageClass", claimSpec,
			fields{"storage.storageClass": map[string]any{"name": "gold", "size": "1Gi"}},
			fields{"storage.claim": nil, "storage.storageClass": map[string]any{"name": "gold", "size": "1Gi"}},
		},
		"ClassOptions": {
			"is mounted with the options of its StorageClass", claimSpec,
			fields{"storage.claim": nil, "storage.storageClass": map[string]any{"name": "gold", "size": "1Gi"}, "protocol.nconnect": int64(4)},
			fields{"storage.claim": nil, "storage.storageClass": map[string]any{"name": "gold", "size": "1Gi"}},
		},
		"ClassTooSmall": {
			"storage.storageClass.size is smaller than one workload.raw.fileSize", claimSpec,
			fields{"storage.claim": nil, "storage.storageClass": map[string]any{"name": "gold", "size": "1023Mi"}},
			fields{"storage.claim": nil, "storage.storageClass": map[string]any{"name": "gold", "size": "1Gi"}},
		},
		"ClassZero": {
			"storage.storageClass.size must be greater than zero", claimSpec,
			fields{"storage.claim": nil, "storage.storageClass": map[string]any{"name": "gold", "size": "0"}},
			fields{"storage.claim": nil, "storage.storageClass": map[string]any{"name": "gold", "size": "1Gi"}},
		},
		"DirectNFSv42": {
			"Direct NFS does not speak NFSv4.2", exportSpec,
			fields{"protocol.version": "NFSv4.2"},
			fields{"protocol.version": "NFSv4.1"},
		},
		"DirectRDMA": {
			"Direct NFS uses TCP", exportSpec, fields{"protocol.transport": "RDMA"}, fields{"protocol.transport": "TCP"},
		},
		"KernelRDMA": {
			"the embedded server uses TCP only", embeddedSpec,
			fields{"protocol.client": "Kernel", "protocol.transport": "RDMA"},
			fields{"protocol.client": "Kernel"},
		},
		"TridentTwice": {
			"give exactly one of storage.trident.storageClassName", tridentSpec,
			fields{trident("storageClassName"): "gold"},
			fields{trident("backendName"): nil, trident("storageClassName"): "gold"},
		},
		"TridentPoolsOfAClass": {
			"storage.trident.storagePools places volumes of a backend", tridentSpec,
			fields{trident("backendName"): nil, trident("storageClassName"): "gold", trident("storagePools"): []any{"aggr1"}},
			fields{trident("storagePools"): []any{"aggr1"}},
		},
		"TridentZero": {"storage.trident.size must be greater than zero", tridentSpec, fields{trident("size"): "0"}, fields{trident("size"): "1Gi"}},
		"TridentTooSmall": {
			"storage.trident.size is smaller than one workload.raw.fileSize", tridentSpec,
			fields{trident("size"): "1023Mi"},
			fields{trident("size"): "1Gi"},
		},
		"TridentAnnotationOfSomebody": {
			"storage.trident.pvcAnnotations takes Trident's annotations only", tridentSpec,
			fields{trident("pvcAnnotations"): map[string]any{"example.com/a": "b"}},
			fields{trident("pvcAnnotations"): map[string]any{"trident.netapp.io/exportPolicy": "b"}},
		},
		"TridentImport": {
			"storage.trident.pvcAnnotations must not import or share", tridentSpec,
			fields{trident("pvcAnnotations"): map[string]any{"trident.netapp.io/importOriginalName": "production"}},
			fields{trident("pvcAnnotations"): map[string]any{"trident.netapp.io/cloneFromPVC": "production"}},
		},
		"TridentShare": {
			"storage.trident.pvcAnnotations must not import or share", tridentSpec,
			fields{trident("pvcAnnotations"): map[string]any{"trident.netapp.io/shareFromPVC": "ns/production"}},
			fields{},
		},
		"MoveWithoutArray": {
			"storage.trident.moveTo is a job of the array", tridentSpec,
			fields{trident("moveTo"): "aggr2"},
			fields{trident("moveTo"): "aggr2", "storage.array.ontap": anArray()},
		},
		"TridentKernelPaths": {
			"a kernel mount uses the dataLIF of the Trident backend", tridentSpec,
			fields{"protocol.client": "Kernel", "protocol.paths.select": "Local", "storage.array.ontap": anArray()},
			fields{"protocol.client": "Kernel", "protocol.paths.select": "All", "storage.array.ontap": anArray()},
		},
		"TridentClassOptions": {
			"a volume of an existing StorageClass is mounted with the options of that class", tridentSpec,
			fields{trident("backendName"): nil, trident("storageClassName"): "gold", "protocol.client": "Kernel", "protocol.nconnect": int64(4)},
			fields{"protocol.client": "Kernel", "protocol.nconnect": int64(4)},
		},
		"LocalWithoutArray": {
			"protocol.paths.select Local and Remote need to know which node", tridentSpec,
			fields{"protocol.paths.select": "Local"},
			fields{"protocol.paths.select": "Local", "storage.array.ontap": anArray()},
		},
		"ClaimKernelRemote": {
			"the kernel client uses the address that the claim", claimSpec,
			fields{"protocol.paths.select": "Remote", "storage.array.ontap": anArray()},
			fields{"protocol.paths.select": "All", "storage.array.ontap": anArray()},
		},
		"ArrayBesideEmbedded": {
			"storage.embedded has counters of its own", embeddedSpec,
			fields{"storage.array.ontap": anArray()},
			fields{},
		},
		"ArrayWithoutAddress": {
			"storage.array.ontap needs managementLIF and svm", exportSpec,
			fields{"storage.array.ontap": map[string]any{"credentialsSecretRef": map[string]any{"name": "x"}}},
			fields{"storage.array.ontap": anArray()},
		},
		"TwoArrays": {
			"give exactly one of storage.array.ontap", exportSpec,
			fields{"storage.array.ontap": anArray(), "storage.array.prometheus": with(prometheus, "queries", map[string]any{"readBytes": "x"})},
			fields{"storage.array.prometheus": with(prometheus, "queries", map[string]any{"readBytes": "x"})},
		},
		"BundleThatIsNotBelieved": {
			"caBundle has no meaning with verification: Disabled", exportSpec,
			fields{"storage.array.ontap": with(anArray(), "tls", map[string]any{"caBundle": certificate(), "verification": "Disabled"})},
			fields{"storage.array.ontap": with(anArray(), "tls", map[string]any{"caBundle": certificate()})},
		},
		"BundleThatIsNone": {
			"caBundle must hold PEM certificates", exportSpec,
			fields{"storage.array.ontap": with(anArray(), "tls", map[string]any{"caBundle": "LS0tLS1CRUdJTg=="})},
			fields{"storage.array.ontap": with(anArray(), "tls", map[string]any{"caBundle": certificate()})},
		},
		"HarvestAndQueries": {
			"give storage.array.prometheus.harvest", exportSpec,
			fields{"storage.array.prometheus": prometheus},
			fields{"storage.array.prometheus": with(prometheus, "harvest", map[string]any{"cluster": "c", "svm": "s"})},
		},
	}
}
