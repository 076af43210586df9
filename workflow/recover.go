package workflow

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/protocol/ledger"
	"github.com/phalanx-go/phalanx/workflow/internal/disk"
)

// LedgerFolder is what the folder of a node has of the ledger.
type LedgerFolder struct {
	Dir        string
	Disk       string // the identity of the folder, as in LedgerDisk
	Ledger     string // "": it belongs to none
	Holds      bool   // it has a part of the ledger
	Generation uint64
	Term       uint64    // of the last record
	Index      uint64    // of the last record: its place in the log
	Written    time.Time // when the folder was last written: not later than that its node was killed
	Outdated   bool      // the ledger was recovered without this folder, and goes on elsewhere
}

// LedgerSurvey is what folders have that are left of a ledger.
type LedgerSurvey struct {
	Folders []LedgerFolder
	Best    int      // of Folders: the one that has most; -1: none has anything
	Disks   []string // the disks that hold the ledger, as far as the best one knows
	Missing []string // of these, those whose folders were not given
	// Generation is that of the recovered ledger; 0: nothing was changed.
	Generation uint64
}

// SurveyLedger reads what folders of nodes that do not run have of the ledger, and changes nothing. The error says why
// RecoverLedger would not recover the ledger from them; the survey is as far as it got.
//
//   - ErrNotFound: a folder is none of a node, or none of them has anything of the ledger.
//   - ErrRefused: a node uses a folder, most of the disks are there, so that their nodes go on once they run, or the ledger was recovered
//     already.
//   - ErrCorrupt: a folder is damaged.
//   - ErrInvalid: the folders are of two ledgers, or two of them are one disk.
func SurveyLedger(ctx context.Context, dirs ...string) (LedgerSurvey, error) {
	s, _, err := surveyLedger(ctx, dirs)
	return s, err
}

// RecoverLedger has a ledger that has lost most of its disks for good go on from the one of these folders that has most of it. It is a
// person's decision: what was acknowledged after the last record of that folder is lost, whether runs were started or
// ended, or effects of tasks had begun, which may have a second effect then. It refuses what SurveyLedger refuses.
//
// The node of that folder leads the ledger alone once it runs, and other disks are added as usual. Folders of the other disks
// that hold the ledger are not needed any more: a node that starts with one ends its replica, and says so. If most of these disks live
// after all, they go on, and the node of the recovered folder ends its replica.
func RecoverLedger(ctx context.Context, dirs ...string) (LedgerSurvey, error) {
	s, found, err := surveyLedger(ctx, dirs)
	if err != nil {
		return s, err
	}
	s.Generation, err = recoverFolder(ctx, s.Folders[s.Best].Dir, found[s.Best])
	return s, err
}

const recoverOp = "recover ledger"

func recoverFailure(kind phalanx.Kind, format string, args ...any) error {
	return failure(recoverOp, "", kind, fmt.Errorf(format, args...))
}

// surveyLedger returns the survey with what each folder has.
func surveyLedger(ctx context.Context, dirs []string) (s LedgerSurvey, found []ledger.Found, err error) {
	s.Best = -1
	if len(dirs) == 0 {
		return s, nil, recoverFailure(phalanx.ErrInvalid, "no folder is given")
	}
	for _, dir := range dirs {
		if ctx.Err() != nil {
			return s, nil, failure(recoverOp, "", phalanx.ErrCanceled, ctx.Err())
		}
		c, err := disk.Inspect(dir, disk.Options{})
		if err != nil {
			return s, nil, folderFailure(err)
		}
		f, err := ledger.Find(c.State)
		if err != nil {
			return s, nil, recoverFailure(phalanx.ErrCorrupt, "%s: the folder is damaged: %w", dir, err)
		}
		one := LedgerFolder{Dir: dir, Disk: strconv.FormatUint(c.Identity.Disk, 16), Ledger: c.Identity.Cluster, Holds: f.Index > 0,
			Generation: f.Generation, Term: f.Term, Index: f.Index, Written: c.Written, Outdated: f.Index > 0 && c.Generation > f.Generation}
		for _, o := range s.Folders {
			if o.Disk == one.Disk {
				return s, nil, recoverFailure(phalanx.ErrInvalid, "%s and %s are one disk: one of them is a copy. Give only the one with which its node ran last", o.Dir, dir)
			}
			if o.Ledger != one.Ledger && o.Ledger != "" && one.Ledger != "" {
				return s, nil, recoverFailure(phalanx.ErrInvalid, "%s and %s belong to two ledgers: give the folders of one", o.Dir, dir)
			}
		}
		s.Folders, found = append(s.Folders, one), append(found, f)
	}
	best, missing, err := ledger.Survey(found)
	if s.Best = best; best >= 0 {
		s.Disks, s.Missing = diskNames(found[best].Knows()), diskNames(missing)
	}
	switch {
	case errors.Is(err, ledger.ErrEmpty):
		return s, nil, recoverFailure(phalanx.ErrNotFound, "none of the folders has anything of the ledger")
	case s.Folders[best].Outdated:
		return s, nil, recoverFailure(phalanx.ErrRefused, "%s: the ledger was recovered without this disk, and goes on from another one", s.Folders[best].Dir)
	case errors.Is(err, ledger.ErrMajority) && len(s.Disks) == 1:
		return s, nil, recoverFailure(phalanx.ErrRefused, "the only disk that holds the ledger is there: start its node, and the ledger goes on")
	case errors.Is(err, ledger.ErrMajority):
		return s, nil, recoverFailure(phalanx.ErrRefused, "%d of the %d disks that hold the ledger are there, which is a majority: start their nodes, and the ledger goes on with all that it has",
			len(s.Disks)-len(s.Missing), len(s.Disks))
	case err != nil:
		return s, nil, failure(recoverOp, "", phalanx.ErrInternal, err)
	}
	return s, found, nil
}

// folderFailure says what an error of a folder means for one who recovers a ledger.
func folderFailure(err error) error {
	var open *durable.OpenError
	if !errors.As(err, &open) {
		return failure(recoverOp, "", phalanx.ErrInternal, err)
	}
	switch {
	case errors.Is(open.Problem, durable.ErrNotOurs):
		return recoverFailure(phalanx.ErrNotFound, "%s: no node has used this folder: give that of --dir, and of phalanx dev the one in it with the node's name", open.Dir)
	case errors.Is(open.Problem, durable.ErrLocked):
		return recoverFailure(phalanx.ErrRefused, "%s: a process uses the folder: stop its node, and try again", open.Dir)
	case errors.Is(open.Problem, durable.ErrDamaged):
		return recoverFailure(phalanx.ErrCorrupt, "%s: the folder is damaged, and the ledger cannot go on from it (%v)", open.Dir, open.Cause)
	}
	return failure(recoverOp, "", phalanx.ErrInvalid, err)
}

// ledgersBegan is the date from which the generations of recovered ledgers are counted.
var ledgersBegan = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// recoverFolder writes to the folder that the ledger goes on from it, and returns the generation.
func recoverFolder(ctx context.Context, dir string, was ledger.Found) (generation uint64, err error) {
	d, err := disk.Open(dir, disk.Options{})
	if err != nil {
		return 0, folderFailure(err)
	}
	defer func() {
		if e := d.Close(); e != nil && err == nil {
			err = failure(recoverOp, "", phalanx.ErrInternal, e)
		}
	}()
	state, err := d.State()
	if err != nil {
		return 0, failure(recoverOp, "", phalanx.ErrInternal, err)
	}
	if now, err := ledger.Find(state); err != nil || now.Index != was.Index || now.Term != was.Term || now.Generation != was.Generation {
		return 0, recoverFailure(phalanx.ErrRefused, "%s: a process has used the folder meanwhile: try again", dir)
	}
	write, err := ledger.Recover(state, time.Since(ledgersBegan))
	if err != nil {
		return 0, failure(recoverOp, "", phalanx.ErrInternal, err)
	}
	done := make(chan error, 1)
	d.Apply(write, func(err error) { done <- err })
	select {
	case err := <-done:
		if err != nil {
			return 0, failure(recoverOp, "", phalanx.ErrInternal, err)
		}
	case <-ctx.Done():
		return 0, recoverFailure(phalanx.ErrUnknown, "%s: the disk has not answered: %w. It may be recovered or not: try again", dir, ctx.Err())
	}
	return ledger.GenerationOf(write.Hard.GetTerm()), nil
}

// diskNames returns the names of the disks of replicas.
func diskNames(replicas []uint64) []string {
	all := make([]string, len(replicas))
	for i, r := range replicas {
		all[i] = strconv.FormatUint(r>>16, 16)
	}
	return all
}
