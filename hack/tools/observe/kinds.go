package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// checkKinds finds the manifests of the Prometheus operator among others.
func checkKinds(in []byte) error {
	var problems []error
	for document := range bytes.SplitSeq(append([]byte("\n"), in...), []byte("\n---\n")) {
		head := metav1.PartialObjectMetadata{}
		if err := yaml.Unmarshal(document, &head); err != nil {
			problems = append(problems, fmt.Errorf("read a manifest: %w", err))
			continue
		}
		if !strings.HasPrefix(head.APIVersion, "monitoring.coreos.com/") {
			continue
		}
		if err := checkKind(head, document); err != nil {
			problems = append(problems, fmt.Errorf("%s %q: %w", head.Kind, head.Name, err))
		}
	}
	return errors.Join(problems...)
}

func checkKind(head metav1.PartialObjectMetadata, document []byte) error {
	if head.APIVersion != monitoring.SchemeGroupVersion.String() {
		return fmt.Errorf("apiVersion is %s; it is %s here", head.APIVersion, monitoring.SchemeGroupVersion)
	}
	if faults := validation.NameIsDNSSubdomain(head.Name, false); len(faults) > 0 {
		return fmt.Errorf("metadata.name: %s", faults[0])
	}
	switch head.Kind {
	case monitoring.ServiceMonitorsKind:
		m := monitoring.ServiceMonitor{}
		if err := yaml.UnmarshalStrict(document, &m); err != nil {
			return err
		}
		if len(m.Spec.Endpoints) == 0 {
			return errors.New("spec.endpoints is empty")
		}
	case monitoring.PodMonitorsKind:
		m := monitoring.PodMonitor{}
		if err := yaml.UnmarshalStrict(document, &m); err != nil {
			return err
		}
		if len(m.Spec.PodMetricsEndpoints) == 0 {
			return errors.New("spec.podMetricsEndpoints is empty")
		}
	case monitoring.PrometheusRuleKind:
		r := monitoring.PrometheusRule{}
		if err := yaml.UnmarshalStrict(document, &r); err != nil {
			return err
		}
		return checkRules(r)
	default:
		return errors.New("no such kind is known here; add it to hack/tools/observe")
	}
	return nil
}

func checkRules(r monitoring.PrometheusRule) error {
	if len(r.Spec.Groups) == 0 {
		return errors.New("spec.groups is empty")
	}
	for _, g := range r.Spec.Groups {
		for _, rule := range g.Rules {
			if u := useOf(rule.Expr.String()); u.Error != "" {
				return fmt.Errorf("rule %s: %s", rule.Alert+rule.Record, u.Error)
			}
		}
	}
	return nil
}
