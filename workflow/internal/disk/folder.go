package disk

import (
	"encoding/json"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/phalanx-go/phalanx/internal/durable"
)

// Identity implements durable.Folder.
func (d *Disk) Identity() durable.Identity {
	d.known.mu.Lock()
	defer d.known.mu.Unlock()
	return d.identity
}

// Join implements durable.Folder.
func (d *Disk) Join(cluster string) error {
	if cluster == "" || len(cluster) > durable.MaxCluster {
		return invalid("a cluster's id has 1 to %d bytes", durable.MaxCluster)
	}
	return d.change(0, true, func(b *pebble.Batch) error {
		d.known.mu.Lock()
		defer d.known.mu.Unlock()
		switch d.identity.Cluster {
		case cluster:
			return nil
		case "":
			d.identity.Cluster = cluster // if the commit fails, the disk is poisoned
			return b.Set(keyCluster, []byte(cluster), nil)
		}
		return durable.ErrOtherCluster
	})
}

// Remember implements durable.Folder.
func (d *Disk) Remember(addresses []string) error {
	if err := durable.CheckMembers(addresses); err != nil {
		return err
	}
	text, err := json.Marshal(addresses)
	if err != nil {
		return err
	}
	return d.change(len(text), true, func(b *pebble.Batch) error {
		d.known.mu.Lock()
		defer d.known.mu.Unlock()
		d.known.members = slices.Clone(addresses)
		return b.Set(keyMembers, text, nil)
	})
}

// Remembered implements durable.Folder.
func (d *Disk) Remembered() []string {
	d.known.mu.Lock()
	defer d.known.mu.Unlock()
	return slices.Clone(d.known.members)
}

// SawBoot implements durable.Folder.
func (d *Disk) SawBoot(n uint64) error {
	return d.change(0, true, func(b *pebble.Batch) error {
		d.known.mu.Lock()
		defer d.known.mu.Unlock()
		if n <= d.known.boot {
			return nil
		}
		d.known.boot = n
		return b.Set(keyBoot, number(n), nil)
	})
}

// Boot implements durable.Folder.
func (d *Disk) Boot() uint64 {
	d.known.mu.Lock()
	defer d.known.mu.Unlock()
	return d.known.boot
}

// SawGeneration implements durable.Folder.
func (d *Disk) SawGeneration(n uint64) error {
	return d.change(0, true, func(b *pebble.Batch) error {
		d.known.mu.Lock()
		defer d.known.mu.Unlock()
		if n <= d.known.generation {
			return nil
		}
		d.known.generation = n
		return b.Set(keyGeneration, number(n), nil)
	})
}

// Generation implements durable.Folder.
func (d *Disk) Generation() uint64 {
	d.known.mu.Lock()
	defer d.known.mu.Unlock()
	return d.known.generation
}

// Begin implements durable.Replica.
func (d *Disk) Begin() (id uint64, err error) {
	var begun uint64 // apart from id, which is read on a disk that is poisoned, too
	err = d.change(0, true, func(b *pebble.Batch) error {
		r := &d.replica
		if r.number+1 >= durable.MaxReplicas {
			return invalid("the folder has had %d replicas: replace it", r.number)
		}
		set := d.streams.next()
		fill := filler{b: b}
		fill.deleteRange(entryKey(0), []byte{entrySpace + 1})
		fill.deleteRange(rowKey(r.set.Load(), ""), setEnd(r.set.Load()))
		for _, key := range [][]byte{keyApplied, keyBase, keyHard, keyConf} {
			fill.delete(key)
		}
		fill.set(keyNumber, number(r.number+1))
		fill.set(keyRows, number(set))
		r.number++
		r.first, r.last, r.applied = 1, 0, 0
		r.set.Store(set)
		begun = replicaID(d.identity.Disk, r.number)
		return fill.err
	})
	if err != nil {
		return 0, err
	}
	return begun, nil
}

// Space implements durable.Folder.
func (d *Disk) Space() (durable.Space, error) {
	usage, err := d.fs.GetDiskUsage(d.dir)
	if err != nil {
		return durable.Space{}, err
	}
	return durable.Space{Free: usage.AvailBytes, Total: usage.TotalBytes}, nil
}
