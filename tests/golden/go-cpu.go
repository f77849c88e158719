// SPDX-License-Identifier: BSD-2-Clause
// Makes tests/golden/go-cpu.pb.gz, a profile of another tool with inlined calls, labels on some
// samples, and no default sample type. With Go 1.19: go build -trimpath -o /tmp/spin/spin go-cpu.go
// && /tmp/spin/spin FILE
package main

import (
	"context"
	"os"
	"runtime/pprof"
	"time"
)

func leaf(x int) int { return x*31 + 7 }

//go:noinline
func outer(n int) (s int) {
	for i := 0; i < n; i++ {
		s = leaf(s) ^ i
	}
	return
}

//go:noinline
func other(n int) (s float64) {
	for i := 1; i < n; i++ {
		s += 1 / float64(i)
	}
	return
}

var sink int

func main() {
	f, _ := os.Create(os.Args[1])
	pprof.StartCPUProfile(f)
	end := time.Now().Add(600 * time.Millisecond)
	pprof.Do(context.Background(), pprof.Labels("phase", "one", "who", "é;x"), func(context.Context) {
		for time.Now().Before(end) {
			sink += outer(1 << 20)
		}
	})
	end = time.Now().Add(300 * time.Millisecond)
	for time.Now().Before(end) {
		sink += int(other(1 << 20))
	}
	pprof.StopCPUProfile()
	f.Close()
}
