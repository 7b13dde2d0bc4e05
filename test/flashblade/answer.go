package flashblade

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

func (s *Standin) answer(w http.ResponseWriter, r *http.Request, path string) {
	session := r.Header.Get("x-auth-token")
	switch path {
	case "/api/api_version":
		_ = json.NewEncoder(w).Encode(map[string]any{"versions": s.versions})
		return
	case "/api/login":
		s.login(w, r)
		return
	}
	if !s.sessions[session] {
		refuse(w, http.StatusUnauthorized, "", "Invalid session "+session)
		return
	}
	q := r.URL.Query()
	switch path {
	case "/api/logout":
		delete(s.sessions, session)
		return
	case "/arrays/performance", "/file-systems/performance":
		s.performance(w, path, q)
		return
	}
	objects, ok := s.objects[path]
	if !ok {
		refuse(w, http.StatusNotFound, path, "no such endpoint")
		return
	}
	if name := q.Get("names"); name != "" {
		objects = slices.DeleteFunc(slices.Clone(objects), func(o any) bool { return field(o, "name") != name })
		if len(objects) == 0 {
			refuse(w, http.StatusBadRequest, name, "File system does not exist.")
			return
		}
	}
	if policy := q.Get("policy_names"); policy != "" {
		objects = slices.DeleteFunc(slices.Clone(objects), func(o any) bool { return field(o, "policy") != policy })
	}
	s.page(w, q, objects)
}

func field(o any, name string) string {
	m, _ := o.(map[string]any)
	v, _ := m[name].(string)
	return v
}

// page writes one page; its continuation token is where the next begins.
func (s *Standin) page(w http.ResponseWriter, q url.Values, objects []any) {
	from := 0
	if t := q.Get("continuation_token"); t != "" {
		n, err := strconv.Atoi(t)
		if err != nil || n < 0 || n > len(objects) {
			refuse(w, http.StatusBadRequest, "continuation_token", "Invalid continuation token.")
			return
		}
		from = n
	}
	to := min(from+s.pageSize, len(objects))
	doc := map[string]any{"items": objects[from:to], "total_item_count": len(objects), "continuation_token": nil}
	if to < len(objects) {
		doc["continuation_token"] = strconv.Itoa(to)
	}
	_ = json.NewEncoder(w).Encode(doc)
}

// performance gives the newest reading, or with start_time all since then.
func (s *Standin) performance(w http.ResponseWriter, path string, q url.Values) {
	name := "array1"
	if path == "/file-systems/performance" {
		name = q.Get("names")
		if !slices.ContainsFunc(s.objects["/file-systems"], func(o any) bool { return field(o, "name") == name }) {
			refuse(w, http.StatusBadRequest, name, "File system does not exist.")
			return
		}
	}
	if q.Get("protocol") != "NFS" {
		refuse(w, http.StatusBadRequest, "protocol", "this stand-in knows NFS only")
		return
	}
	points := s.history[max(0, len(s.history)-1):]
	if start := q.Get("start_time"); start != "" {
		ms, err := strconv.ParseInt(start, 10, 64)
		if err != nil || q.Get("resolution") != "1000" {
			refuse(w, http.StatusBadRequest, "start_time", "Invalid start_time or resolution.")
			return
		}
		points = slices.DeleteFunc(slices.Clone(s.history), func(p point) bool { return p.at.Before(time.UnixMilli(ms)) })
	}
	var items []any
	for _, p := range points {
		items = append(items, map[string]any{
			"name": name, "time": p.at.UnixMilli(), "reads_per_sec": p.Reads, "writes_per_sec": p.Writes, "others_per_sec": p.Others,
			"read_bytes_per_sec": p.ReadBytes, "write_bytes_per_sec": p.WriteBytes,
			"usec_per_read_op": p.ReadLatency, "usec_per_write_op": p.WriteLatency,
		})
	}
	s.page(w, q, items)
}

// example is the array as it is when nobody changed it.
func example() map[string][]any {
	vip := func(name, address, service string, enabled bool) any {
		return map[string]any{"name": name, "address": address, "netmask": "255.255.255.0", "services": []string{service}, "type": "vip", "enabled": enabled}
	}
	blade := func(name, status string) any { return map[string]any{"name": name, "status": status} }
	return map[string][]any{
		"/arrays": {map[string]any{"name": "fb01", "os": "Purity//FB", "version": "4.5.6"}},
		"/blades": {blade("CH1.FB2", "healthy"), blade("CH1.FB1", "healthy"), blade("CH1.FB3", "unhealthy"), blade("CH1.FB4", "unused")},
		"/network-interfaces": {
			vip("vip2", "10.0.2.10", "data", true), vip("vip1", "10.0.1.10", "data", true), vip("mgmt", "10.0.9.1", "management", true), vip("vip3", "10.0.3.10", "data", false),
		},
		"/file-systems": {
			FileSystem("fs1"),
			map[string]any{"name": "gone", "destroyed": true},
		},
		"/nfs-export-policies/rules": {
			map[string]any{"policy": "oracle", "client": "10.0.2.0/24", "permission": "ro", "access": "root-squash", "index": 2, "security": []string{"sys", "krb5"}},
			map[string]any{"policy": "oracle", "client": "10.0.1.0/24", "permission": "rw", "access": "no-squash", "index": 1},
			map[string]any{"policy": "other", "client": "*", "permission": "rw", "access": "no-squash", "index": 1},
		},
	}
}

// FileSystem is a file system of 1 TB with a hard limit, 250 GB of it used, and an export
// policy.
func FileSystem(name string) map[string]any {
	return map[string]any{
		"name": name, "id": "4ff1-" + name, "provisioned": int64(1e12), "hard_limit_enabled": true, "destroyed": false, "writable": true,
		"space": map[string]any{"virtual": int64(25e10), "total_physical": int64(1e10)},
		"nfs":   map[string]any{"v3_enabled": true, "v4_1_enabled": false, "rules": "", "export_policy": map[string]any{"name": "oracle"}},
	}
}
