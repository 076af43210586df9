package memory

import (
	"slices"

	"github.com/phalanx-go/phalanx/internal/durable"
)

// Identity implements durable.Folder.
func (d *Disk) Identity() durable.Identity {
	_ = d.lock() // it is known to the end
	defer d.unlock()
	return d.folder.identity
}

// Join implements durable.Folder.
func (d *Disk) Join(cluster string) error {
	if cluster == "" || len(cluster) > durable.MaxCluster {
		return invalid("a cluster's id has 1 to %d bytes", durable.MaxCluster)
	}
	return d.synced(func(f *Folder) error {
		if bound := f.identity.Cluster; bound != "" && bound != cluster {
			return durable.ErrOtherCluster
		}
		f.identity.Cluster = cluster
		return nil
	})
}

// Remember implements durable.Folder.
func (d *Disk) Remember(addresses []string) error {
	if err := durable.CheckMembers(addresses); err != nil {
		return err
	}
	return d.synced(func(f *Folder) error {
		f.members = slices.Clone(addresses)
		return nil
	})
}

// Remembered implements durable.Folder.
func (d *Disk) Remembered() []string {
	_ = d.lock() // it is known to the end
	defer d.unlock()
	return slices.Clone(d.folder.members)
}

// SawBoot implements durable.Folder.
func (d *Disk) SawBoot(n uint64) error {
	return d.synced(func(f *Folder) error {
		f.boot = max(f.boot, n)
		return nil
	})
}

// Boot implements durable.Folder.
func (d *Disk) Boot() uint64 {
	_ = d.lock() // it is known to the end
	defer d.unlock()
	return d.folder.boot
}

// SawGeneration implements durable.Folder.
func (d *Disk) SawGeneration(n uint64) error {
	return d.synced(func(f *Folder) error {
		f.generation = max(f.generation, n)
		return nil
	})
}

// Generation implements durable.Folder.
func (d *Disk) Generation() uint64 {
	_ = d.lock() // it is known to the end
	defer d.unlock()
	return d.folder.generation
}

// Begin implements durable.Replica.
func (d *Disk) Begin() (uint64, error) {
	var id uint64
	err := d.synced(func(f *Folder) error {
		s := step{begin: true}
		if f.current.number+1 >= durable.MaxReplicas {
			return invalid("the folder has had %d replicas: replace it", f.current.number)
		}
		if err := f.current.apply(&s); err != nil {
			return err
		}
		f.unsynced = append(f.unsynced, s)
		id = f.identity.Disk<<16 | f.current.number
		return nil
	})
	return id, err
}

// synced commits what waits, makes a change, and syncs both.
func (d *Disk) synced(change func(*Folder) error) error {
	_ = d.lock() // commit and the test below see the error
	defer d.unlock()
	d.commit()
	if d.over != nil {
		return d.over
	}
	if err := change(d.folder); err != nil {
		return err
	}
	d.folder.sync()
	return nil
}

// Space implements durable.Folder.
func (d *Disk) Space() (durable.Space, error) {
	_ = d.lock() // it is known to the end
	defer d.unlock()
	return d.folder.space, nil
}
