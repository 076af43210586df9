package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// metrics are the measures for Prometheus. No label has the id of an object or of
// a node: their number has no bound.
type metrics struct {
	registry   *prometheus.Registry
	requests   *prometheus.CounterVec
	answers    *prometheus.HistogramVec
	operations *prometheus.HistogramVec
	errors     *prometheus.CounterVec
	events     *prometheus.CounterVec
}

// latencies are the bounds of histograms in seconds: from small objects of this machine to uploads
// that take as long as they may.
var latencies = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 3600}

func newMetrics(n Node) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "phalanx_http_requests_total", Help: "Answered HTTP requests."}, []string{"method", "route", "status"}),
		answers: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "phalanx_http_request_duration_seconds", Help: "How long HTTP requests took, until the last byte of the answer was written.",
			Buckets: latencies}, []string{"method", "route"}),
		operations: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "phalanx_operation_duration_seconds", Help: "How long operations took that clients asked for by HTTP, by result: ok or the kind of the error.",
			Buckets: latencies}, []string{"op", "outcome"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "phalanx_operation_errors_total", Help: "Operations that failed, by the kind of the error."}, []string{"op", "kind"}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "phalanx_events_total", Help: "Events that were published on this node."}, []string{"kind"}),
	}
	m.registry.MustRegister(m.requests, m.answers, m.operations, m.errors, m.events, status{n}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// countEvents counts events until ctx ends.
func (m *metrics) countEvents(ctx context.Context, n Node) {
	events := n.Events(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-events:
			if !ok {
				return
			}
			m.events.WithLabelValues(e.Kind()).Inc()
		}
	}
}

// took records how long an operation took and how it ended. Operations and kinds are few.
func (m *metrics) took(op string, d time.Duration, err error) {
	outcome := "ok"
	if err != nil {
		outcome = outcomeOf(typed(err).Kind).Kind.Error()
		m.errors.WithLabelValues(op, outcome).Inc()
	}
	m.operations.WithLabelValues(op, outcome).Observe(d.Seconds())
}

// count counts and times requests by route and status. A download that broke off counts
// as "aborted".
func (m *metrics) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &counted{ResponseWriter: w, status: "aborted"}
		began := time.Now()
		defer func() {
			m.requests.WithLabelValues(method(r.Method), route(r.Pattern), c.status).Inc()
			m.answers.WithLabelValues(method(r.Method), route(r.Pattern)).Observe(time.Since(began).Seconds())
		}()
		defer func() {
			if p := recover(); p != nil {
				c.status = "aborted"
				panic(p)
			}
		}()
		next.ServeHTTP(c, r)
		if !c.wrote {
			c.status = "200"
		}
	})
}

// method and route have few values, whatever is asked for.
func method(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPut, http.MethodPost, http.MethodDelete:
		return m
	}
	return "other"
}

func route(pattern string) string {
	if _, path, ok := strings.Cut(pattern, " "); ok {
		return path
	}
	if pattern == "/" || pattern == "" {
		return "none"
	}
	return pattern
}

// counted is a ResponseWriter that remembers the status.
type counted struct {
	http.ResponseWriter
	status string
	wrote  bool
}

// Unwrap is for http.ResponseController.
func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *counted) WriteHeader(code int) {
	if !c.wrote && code >= 200 {
		c.wrote, c.status = true, strconv.Itoa(code)
	}
	c.ResponseWriter.WriteHeader(code)
}

func (c *counted) Write(p []byte) (int, error) {
	if !c.wrote {
		c.wrote, c.status = true, "200"
	}
	return c.ResponseWriter.Write(p)
}

// status collects a node's Status.
type status struct{ node Node }

type measure struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(Status) float64
}

func newMeasure(name, help string, kind prometheus.ValueType, value func(Status) float64) measure {
	return measure{prometheus.NewDesc("phalanx_"+name, help, nil, nil), kind, value}
}

var measures = []measure{
	newMeasure("memory_used_bytes", "Memory that counts against the cap.", prometheus.GaugeValue, func(s Status) float64 { return float64(s.Memory.Used) }),
	newMeasure("memory_directory_bytes", "Used memory of the directory: records and inline bytes.", prometheus.GaugeValue, func(s Status) float64 { return float64(s.Memory.Directory) }),
	newMeasure("memory_idle_bytes", "Used memory that is kept for reuse and given up as soon as there is need.", prometheus.GaugeValue, func(s Status) float64 { return float64(s.Memory.Idle) }),
	newMeasure("memory_peak_bytes", "The most memory that was used at a time.", prometheus.GaugeValue, func(s Status) float64 { return float64(s.Memory.Peak) }),
	newMeasure("memory_cap_bytes", "The memory cap.", prometheus.GaugeValue, func(s Status) float64 { return float64(s.Memory.Cap) }),
	newMeasure("memory_waiting", "Requests that wait for memory.", prometheus.GaugeValue, func(s Status) float64 { return float64(s.Memory.Waiting) }),
	newMeasure("memory_waiting_bytes", "Bytes of memory that requests wait for.", prometheus.GaugeValue, func(s Status) float64 { return float64(s.Memory.WaitingBytes) }),
	newMeasure("sent_bytes_total", "Bytes of objects sent to other nodes.", prometheus.CounterValue, func(s Status) float64 { return float64(s.BytesSent) }),
	newMeasure("received_bytes_total", "Bytes of objects received from other nodes.", prometheus.CounterValue, func(s Status) float64 { return float64(s.BytesReceived) }),
	newMeasure("objects", "Objects of which this node has a copy.", prometheus.GaugeValue, func(s Status) float64 { return float64(s.Objects) }),
	newMeasure("copies_complete", "Complete copies on this node.", prometheus.GaugeValue, func(s Status) float64 { return float64(s.Complete) }),
	newMeasure("copies_pinned", "Pinned copies on this node.", prometheus.GaugeValue, func(s Status) float64 { return float64(s.Pinned) }),
	newMeasure("evictions_total", "Copies that were dropped for room.", prometheus.CounterValue, func(s Status) float64 { return float64(s.Evictions) }),
	newMeasure("fetches", "Objects that are arriving.", prometheus.GaugeValue, func(s Status) float64 { return float64(s.Fetching) }),
	newMeasure("reduces", "Reduces that this node coordinates.", prometheus.GaugeValue, func(s Status) float64 { return float64(s.Reduces) }),
	newMeasure("places", "Places of reduces on this node.", prometheus.GaugeValue, func(s Status) float64 { return float64(s.Places) }),
	newMeasure("memory_services_bytes", "Used memory of services: the state of barriers and groups.", prometheus.GaugeValue, func(s Status) float64 { return float64(s.Memory.Services) }),
	newMeasure("shards_owned", "Directory shards that this node owns.", prometheus.GaugeValue, func(s Status) float64 { return float64(s.ShardsOwned) }),
	newMeasure("shards_backed_up", "Directory shards that this node backs up.", prometheus.GaugeValue, func(s Status) float64 { return float64(s.ShardsBackedUp) }),
	newMeasure("directory_requests_total", "Requests of this node to directory shards.", prometheus.CounterValue, func(s Status) float64 { return float64(s.Requests) }),
	newMeasure("streams_busy_total", "Streams that were told that this node is busy, since the node that asked had as many from here as it may have.", prometheus.CounterValue, func(s Status) float64 { return float64(s.StreamsBusy) }),
	newMeasure("view_number", "The number of the view.", prometheus.GaugeValue, func(s Status) float64 { return float64(s.View) }),
	newMeasure("members", "Members of the view.", prometheus.GaugeValue, func(s Status) float64 { return float64(len(s.Members)) }),
	newMeasure("majority_lost", "1 while this node hears of no majority of the voters, else 0.", prometheus.GaugeValue, func(s Status) float64 {
		if s.MajorityLost {
			return 1
		}
		return 0
	}),
	newMeasure("uptime_seconds", "Time since the node joined.", prometheus.GaugeValue, func(s Status) float64 { return s.Uptime }),
}

// Describe is of prometheus.Collector.
func (c status) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range measures {
		ch <- m.desc
	}
}

// Collect is of prometheus.Collector.
func (c status) Collect(ch chan<- prometheus.Metric) {
	s := c.node.Status()
	for _, m := range measures {
		ch <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(s))
	}
}
