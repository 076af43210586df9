package httpapi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// Download is an object that arrives. Read ends with io.EOF only when the
// object is final and whole. Close must be called.
type Download struct {
	Info

	client *Client
	ctx    context.Context // as http.Request has one
	cancel context.CancelFunc
	quiet  silence
	res    *http.Response
	at     int64
	over   time.Time // when its timeout has passed
}

// silence ends a download without bytes. A node cuts it before; a node that hangs, or is
// cut off, cannot.
type silence struct {
	max   time.Duration
	timer *time.Timer
}

var errSilent = errors.New("it hangs, or is cut off")

// Get reads an object. It waits for an object that is not begun as long as wait says;
// a timeout of 0 is the node's.
func (c *Client) Get(ctx context.Context, id phalanx.ObjectID, wait, timeout time.Duration) (*Download, error) {
	const op = "get"
	if err := validID(op, id); err != nil {
		return nil, err
	}
	q := request{op: op, object: id, method: http.MethodGet, path: "/v1/objects/" + escapeID(id), query: url.Values{}}
	if wait > 0 {
		q.query.Set("wait", wait.String())
	}
	if timeout > 0 {
		q.query.Set("timeout", timeout.String())
	} else {
		timeout = time.Hour
	}
	over := time.Now().Add(timeout)
	ctx, cancel := context.WithDeadline(ctx, over.Add(late))
	ctx, ends := context.WithCancelCause(ctx)
	search := wait
	if search == 0 {
		search = time.Minute // as the node has it
	}
	quiet := silence{c.stall + late, time.AfterFunc(search+c.stall+late, func() { ends(errSilent) })}
	res, err := c.do(ctx, q)
	quiet.timer.Stop() // until the first Read
	if err != nil {
		cancel()
		return nil, err
	}
	shape, _ := ParseShape(res.Header.Get(headerShape)) // the node's header is for people here
	return &Download{client: c, ctx: ctx, cancel: cancel, quiet: quiet, res: res, over: over, Info: Info{ID: id, Size: res.ContentLength, DType: res.Header.Get(headerDType),
		Shape: shape, Generation: res.Header.Get(headerGeneration), Digest: res.Header.Get(headerDigest)}}, nil
}

// Read reads the bytes that have come.
func (d *Download) Read(p []byte) (int, error) {
	d.quiet.timer.Reset(d.quiet.max)
	n, err := d.res.Body.Read(p)
	d.quiet.timer.Stop() // the caller may take its time
	d.at += int64(n)
	switch {
	case err == io.EOF:
		d.Size = d.at
		if s := d.res.Trailer.Get(headerDigest); s != "" {
			d.Digest = s
		}
	case err != nil && d.ctx.Err() != nil:
		return n, d.client.failure(d.ctx, "get", d.ID, err)
	case err != nil:
		return n, d.broken()
	}
	return n, err
}

// becameFor bounds how long a node may take to report the fate of an object. Where it
// cannot know, it says so after the silence of the object's owner, a few seconds.
const becameFor = 6 * time.Second

// broken says why the bytes ended too early. The stream has no room for that,
// so it asks the node for the fate of the object.
func (d *Download) broken() error {
	e := &phalanx.Error{Op: "get", Object: d.ID, Kind: phalanx.ErrAborted}
	if !time.Now().Before(d.over) { // which ends the stream at the node
		e.Kind, e.Err = phalanx.ErrDeadline, fmt.Errorf("%d bytes of the object had come in time", d.at)
		return e
	}
	o, err := d.client.Stat(d.ctx, d.ID, becameFor)
	if d.ctx.Err() != nil {
		return d.client.failure(d.ctx, "get", d.ID, d.ctx.Err())
	}
	var why phalanx.Error
	if err != nil {
		why = *typed(err)
	}
	same := o.Generation == d.Generation && err == nil
	switch kind := why.Kind; {
	case kind == phalanx.ErrDeleted:
		e.Kind, e.Err = phalanx.ErrDeleted, fmt.Errorf("the object was deleted after %d bytes had come", d.at)
	case kind == phalanx.ErrUnavailable, kind == phalanx.ErrDeadline, kind == phalanx.ErrFenced, kind == phalanx.ErrClosed:
		e.Kind, e.Node = phalanx.ErrUnavailable, why.Node
		e.Err = fmt.Errorf("the stream of the node at %s broke off after %d bytes, for an unknown reason: %s", d.client.Addr(), d.at, err)
	case err == nil && o.State == directory.Lost.String():
		e.Kind, e.Node = phalanx.ErrLost, o.Origin
		e.Err = fmt.Errorf("the node had made the object, and every complete copy was gone after %d bytes had come; put it again", d.at)
	case same && o.State == directory.Begun.String():
		e.Node = o.Origin
		e.Err = fmt.Errorf("the node writes the object, and the stream broke off after %d bytes since no more came", d.at)
	case same:
		e.Kind = phalanx.ErrUnavailable
		e.Err = fmt.Errorf("the stream of the node at %s broke off after %d bytes, although the object is there; get it again", d.client.Addr(), d.at)
	case err == nil:
		e.Node = o.Origin
		e.Err = fmt.Errorf("the node makes the object again, and the stream broke off after %d bytes of the generation before", d.at)
	default:
		e.Err = fmt.Errorf("the stream broke off after %d bytes: the object was given up", d.at)
	}
	return e
}

// Close ends the download.
func (d *Download) Close() error {
	defer d.cancel()
	d.quiet.timer.Stop()
	return d.res.Body.Close()
}

// Events calls f with the kind and the JSON of each event, until ctx ends, the node
// leaves, or f fails. When ctx ends that is no error.
func (c *Client) Events(ctx context.Context, f func(kind string, data []byte) error) error {
	const op = "events"
	res, err := c.do(ctx, request{op: op, method: http.MethodGet, path: "/v1/events"})
	if err != nil {
		if errors.Is(err, phalanx.ErrCanceled) {
			return nil
		}
		return err
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	kind := ""
	var data []byte
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() == "":
			if kind != "" {
				if err := f(kind, data); err != nil {
					return err
				}
			}
			kind, data = "", nil
		case field == "event":
			kind = value
		case field == "data":
			data = []byte(value)
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	if err := lines.Err(); err != nil {
		return c.failure(ctx, op, "", err)
	}
	return &phalanx.Error{Op: op, Kind: phalanx.ErrClosed, Err: fmt.Errorf("the node at %s ended the stream: it is leaving", c.Addr())}
}
