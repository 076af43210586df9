package cluster_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

const gigabyte = 1 << 30

// BenchmarkGet1GB gets 1 GB from one process into another, with all checks, and
// compares with what iperf3 (one stream, default settings) moves just before and
// after:
//
//	first/iperf3    the first object of two new processes, which have touched
//	                as much memory as they joined (Config.Warm)
//	again/iperf3    the next object, into the memory of the first, which was deleted
//	cold/iperf3     the first object of two new processes whose memory is new too
//	cold-touch-MB/s how fast a process that does nothing else touches new memory
//	receiver-peak   the most memory that the process ever had resident, runtime
//	sender-peak     and all, per byte of the object; the greatest of all
//	put-MB/s        of the first object, from a reader
//	allocs/piece    of all that both processes do meanwhile, by pieces of 64 KB
//
// Other figures are medians of all rounds.
func BenchmarkGet1GB(b *testing.B) {
	m := metrics{}
	for i := range b.N {
		b.StopTimer()
		touch := touching(b)
		iperf := iperf3(b)
		p, stop := launch(b, 2, 2*gigabyte, gigabyte)
		put, first := move(p, "first")
		p[0].do(order{Do: "delete", Object: "first"})
		p[0].do(order{Do: "put from reader", Object: "again", Size: gigabyte})
		made := p[0].do(order{Do: "count"}).Made + p[1].do(order{Do: "count"}).Made
		again := fetch(p, "again")
		made = p[0].do(order{Do: "count"}).Made + p[1].do(order{Do: "count"}).Made - made
		m.add("allocs/piece", float64(made)/float64(dataplane.Pieces(gigabyte)))
		m.add("receiver-peak", p[1].peak()/gigabyte)
		m.add("sender-peak", p[0].peak()/gigabyte)
		stop()
		after := iperf3(b)
		p, stop = launch(b, 2, 2*gigabyte, 0)
		b.StartTimer()
		_, cold := move(p, "cold")
		b.StopTimer()
		m.add("receiver-peak", p[1].peak()/gigabyte)
		m.add("sender-peak", p[0].peak()/gigabyte)
		stop()
		m.add("put-MB/s", put)
		m.add("first-MB/s", first)
		m.add("again-MB/s", again)
		m.add("cold-MB/s", cold)
		m.add("cold-touch-MB/s", touch)
		if iperf == 0 {
			b.Log("no iperf3")
			continue
		}
		m.add("iperf3-MB/s", (iperf+after)/2)
		m.add("first/iperf3", first/((iperf+after)/2))
		m.add("again/iperf3", again/((iperf+after)/2))
		m.add("cold/iperf3", cold/after)
		b.Logf("round %d: %.0f %.0f MB/s iperf3, %.0f put, %.0f first, %.0f again, %.0f cold, %.0f cold touch",
			i, iperf, after, put, first, again, cold, touch)
	}
	m.report(b)
}

// move puts a gigabyte in one process and gets it in the other; both in MB/s.
func move(p []*process, id phalanx.ObjectID) (put, get float64) {
	put = rate(p[0].do(order{Do: "put from reader", Object: id, Size: gigabyte}))
	return put, fetch(p, id)
}

func fetch(p []*process, id phalanx.ObjectID) float64 {
	return rate(p[1].do(order{Do: "get", Object: id, Size: gigabyte}))
}

// rate returns MB/s of an order about a gigabyte.
func rate(r report) float64 { return gigabyte / 1e6 / r.Took[0].Seconds() }

// BenchmarkLookup asks the directory about ids that another process owns.
func BenchmarkLookup(b *testing.B) {
	p, _ := launch(b, 2, gigabyte, 0)
	p[0].do(order{Do: "stat", Object: "warm", Times: 200})
	b.ResetTimer()
	quantiles(b, "", p[0].do(order{Do: "stat", Object: "x", Times: b.N}).Took)
}

// BenchmarkDirectoryWrite makes changes that are in two processes when they are
// answered: own-… where this process is the owner, else owner and backup are two
// others.
func BenchmarkDirectoryWrite(b *testing.B) {
	p, _ := launch(b, 3, gigabyte, 0)
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
	p, _ := launch(b, 3, gigabyte, 0)
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
	p, _ := launch(b, 4, gigabyte, 256<<20)
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
	p, _ := launch(b, 4, gigabyte, 256<<20)
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
// percent: on average over the processes of a cluster, and the most of one, which
// is the leader of the view.
func BenchmarkIdle(b *testing.B) {
	const period = 5 * time.Second
	for _, k := range []int{1, 3, 8} {
		b.Run(fmt.Sprintf("nodes=%d", k), func(b *testing.B) {
			p, _ := launch(b, k, gigabyte, 0)
			var used []float64
			for range b.N {
				before := make([]float64, k)
				for i, q := range p {
					before[i] = q.ticks()
				}
				began := time.Now()
				time.Sleep(period)
				percent := time.Since(began).Seconds() // of this time, in ticks
				for i, q := range p {
					used = append(used, (q.ticks()-before[i])/percent)
				}
			}
			sum := 0.0
			for _, u := range used {
				sum += u
			}
			b.ReportMetric(sum/float64(len(used)), "%core/node")
			b.ReportMetric(slices.Max(used), "%core-most")
		})
	}
}

func quantiles(b *testing.B, prefix string, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, prefix+"p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, prefix+"p99-µs")
}

// metrics are figures of several rounds.
type metrics map[string][]float64

func (m metrics) add(name string, value float64) { m[name] = append(m[name], value) }

// report tells the median of each, of a peak the greatest.
func (m metrics) report(b *testing.B) {
	for name, x := range m {
		slices.Sort(x)
		value := x[len(x)/2]
		if strings.HasSuffix(name, "-peak") {
			value = x[len(x)-1]
		}
		b.ReportMetric(value, name)
	}
}
