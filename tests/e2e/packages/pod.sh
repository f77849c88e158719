#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# pod.sh: Kubernetes' own types, read strictly, accept packaging/krait-pod.yaml as a pod. The pod
# isn't privileged. The test uses the newest version of these types that Debian 12's Go (1.19) can
# build.
. "$(dirname "$0")/../kit.sh" pod
command -v go >/dev/null || skip_all "no Go tool chain"
cat >"$work/go.mod" <<'END'
module pod
go 1.19
require (
	k8s.io/api v0.26.15
	sigs.k8s.io/yaml v1.3.0
)
END
cat >"$work/main.go" <<'END'
package main

import (
	"fmt"
	"os"

	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	var pod v1.Pod
	text, err := os.ReadFile(os.Args[1])
	if err == nil {
		err = yaml.UnmarshalStrict(text, &pod)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(pod.Kind, pod.Spec.HostPID, *pod.Spec.Containers[0].SecurityContext.Privileged,
		pod.Spec.Containers[0].SecurityContext.Capabilities.Add)
}
END
( cd "$work" && GOFLAGS=-mod=mod GOTOOLCHAIN=local timeout 1200 go build -o pod . ) >"$work/log" 2>&1 ||
	skip_all "the types can't be had or built: $(tail -n 1 "$work/log")"
typed() { "$work/pod" packaging/krait-pod.yaml >"$work/said"; cat "$work/said"; grep -q '^Pod true false \[BPF PERFMON ' "$work/said"; }
# A field that pods don't have is refused, which shows that the types are checked.
odd_refused() { sed 's/hostPID/hostPids/' packaging/krait-pod.yaml >"$work/odd.yaml"; ! "$work/pod" "$work/odd.yaml"; }
check typed typed
check odd-word-refused odd_refused
exit $bad
