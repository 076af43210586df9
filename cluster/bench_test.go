package cluster_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

const gigabyte = 1 << 30

// BenchmarkGet1GB gets 1 GB from one process into another, with all checks, and
// compares with what iperf3 (one stream, default settings) moves in between:
//
//	fresh/iperf3    the first object of two new processes: its memory is new
//	again/iperf3    the next one, into memory that the node had used before
//	receiver-peak   the most memory that the process ever had resident, runtime
//	sender-peak     and all, per byte of the object
//	put-MB/s        of the first object, from a reader
//
// Ratios are medians of those of each round.
func BenchmarkGet1GB(b *testing.B) {
	var fresh, again, putting, receiver, sender, toFresh, toAgain []float64
	for i := range b.N {
		b.StopTimer()
		iperf := iperf3(b)
		p, stop := launch(b, 2, 2*gigabyte)
		first, second := phalanx.ObjectID(fmt.Sprintf("first/%d", i)), phalanx.ObjectID(fmt.Sprintf("second/%d", i))
		putting = append(putting, rate(p[0].do(order{Do: "put from reader", Object: first, Size: gigabyte})))
		b.StartTimer()
		r := rate(p[1].do(order{Do: "get", Object: first, Size: gigabyte}))
		b.StopTimer()
		fresh = append(fresh, r)
		receiver = append(receiver, p[1].peak()/gigabyte)
		sender = append(sender, p[0].peak()/gigabyte)
		p[0].do(order{Do: "delete", Object: first})
		p[0].do(order{Do: "put from reader", Object: second, Size: gigabyte})
		a := rate(p[1].do(order{Do: "get", Object: second, Size: gigabyte}))
		again = append(again, a)
		stop()
		if iperf > 0 {
			after := iperf3(b)
			toFresh, toAgain = append(toFresh, 2*r/(iperf+after)), append(toAgain, 2*a/(iperf+after))
		}
	}
	b.SetBytes(gigabyte)
	b.ReportMetric(median(fresh), "fresh-MB/s")
	b.ReportMetric(median(again), "again-MB/s")
	b.ReportMetric(median(putting), "put-MB/s")
	b.ReportMetric(slices.Max(receiver), "receiver-peak")
	b.ReportMetric(slices.Max(sender), "sender-peak")
	if len(toFresh) == 0 {
		b.Log("no iperf3")
		return
	}
	b.ReportMetric(median(toFresh), "fresh/iperf3")
	b.ReportMetric(median(toAgain), "again/iperf3")
}

// rate returns MB/s of an order about a gigabyte.
func rate(r report) float64 { return gigabyte / 1e6 / r.Took[0].Seconds() }

// BenchmarkLookup asks the directory about ids that another process owns.
func BenchmarkLookup(b *testing.B) {
	p, _ := launch(b, 2, gigabyte)
	p[0].do(order{Do: "stat", Object: "warm", Times: 200})
	b.ResetTimer()
	quantiles(b, "", p[0].do(order{Do: "stat", Object: "x", Times: b.N}).Took)
}

// BenchmarkDirectoryWrite makes changes that are in two processes when they are
// answered: own-… where this process is the owner, else owner and backup are two
// others.
func BenchmarkDirectoryWrite(b *testing.B) {
	p, _ := launch(b, 3, gigabyte)
	p[0].do(order{Do: "erase", Object: "warm", Times: 200})
	p[0].do(order{Do: "erase own", Object: "warm", Times: 200})
	b.ResetTimer()
	quantiles(b, "", p[0].do(order{Do: "erase", Object: "x", Times: b.N}).Took)
	b.StopTimer()
	quantiles(b, "own-", p[0].do(order{Do: "erase own", Object: "y", Times: b.N}).Took)
}

// BenchmarkPutGet1KB puts 1 KB in one of three processes and then gets it in
// another; the times of both calls are added.
func BenchmarkPutGet1KB(b *testing.B) {
	p, _ := launch(b, 3, gigabyte)
	var puts, gets, both []time.Duration
	for i := range b.N + 200 {
		id := phalanx.ObjectID(fmt.Sprintf("x/%d", i))
		put := p[0].do(order{Do: "put", Object: id, Size: 1000}).Took[0]
		get := p[1].do(order{Do: "get", Object: id, Size: 1000}).Took[0]
		if i == 200 { // it is warm
			b.ResetTimer()
		}
		if i >= 200 {
			puts, gets, both = append(puts, put), append(gets, get), append(both, put+get)
		}
	}
	b.StopTimer()
	quantiles(b, "", both)
	quantiles(b, "put-", puts)
	quantiles(b, "get-", gets)
}

// BenchmarkBroadcast has three processes get 32 MB from a fourth at once.
func BenchmarkBroadcast(b *testing.B) {
	const size = 32 << 20
	p, _ := launch(b, 4, gigabyte)
	var took []time.Duration
	for i := range b.N + 2 {
		id := phalanx.ObjectID(fmt.Sprintf("x/%d", i))
		p[0].do(order{Do: "put from reader", Object: id, Size: size})
		for _, q := range p[1:] {
			q.send(order{Do: "get", Object: id, Size: size})
		}
		last := time.Duration(0)
		for _, q := range p[1:] {
			last = max(last, q.report().Took[0])
		}
		if took = append(took, last); i < 2 {
			took = nil
		}
		p[0].do(order{Do: "delete", Object: id})
	}
	b.SetBytes(size)
	quantiles(b, "", took)
}

// BenchmarkReduce adds 32 MB of float32 from each of four processes.
func BenchmarkReduce(b *testing.B) {
	const size = 32 << 20
	p, _ := launch(b, 4, gigabyte)
	var took []time.Duration
	for i := range b.N + 2 {
		var sources []phalanx.ObjectID
		for k, q := range p {
			id := phalanx.ObjectID(fmt.Sprintf("x/%d/%d", i, k))
			sources = append(sources, id)
			q.do(order{Do: "put array", Object: id, Size: size})
		}
		target := phalanx.ObjectID(fmt.Sprintf("sum/%d", i))
		took = append(took, p[0].do(order{Do: "reduce", Object: target, Sources: sources}).Took[0])
		if i < 2 {
			took = nil
		}
		for _, id := range append(sources, target) {
			p[0].do(order{Do: "delete", Object: id})
		}
	}
	b.SetBytes(size)
	quantiles(b, "", took)
}

// BenchmarkIdle tells how much of a core a node uses that has nothing to do, in
// percent, on average over eight processes.
func BenchmarkIdle(b *testing.B) {
	const period = 5 * time.Second
	p, _ := launch(b, 8, gigabyte)
	var used []float64
	for range b.N {
		before := make([]float64, len(p))
		for i, q := range p {
			before[i] = q.ticks()
		}
		began := time.Now()
		time.Sleep(period)
		hundredths := time.Since(began).Seconds() // one percent of this time, in ticks
		for i, q := range p {
			used = append(used, (q.ticks()-before[i])/hundredths)
		}
	}
	sum := 0.0
	for _, u := range used {
		sum += u
	}
	b.ReportMetric(sum/float64(len(used)), "%core/node")
	b.ReportMetric(slices.Max(used), "%core-most")
}

func quantiles(b *testing.B, prefix string, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, prefix+"p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, prefix+"p99-µs")
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}
