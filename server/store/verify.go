package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// Damage is the error for a file that does not hold what was written to it. Nothing of the file may be used, because an
// acknowledged entry may be wrong or missing.
type Damage struct {
	Path  string
	Index uint64 // log index of the record, 0 when it is not a log record
	What  string
}

func (d *Damage) Error() string {
	where := d.Path
	if d.Index > 0 {
		where = fmt.Sprintf("%s: log record %d", d.Path, d.Index)
	}
	return fmt.Sprintf("%s is damaged (%s): the disk or memory of this host changed what was written; nothing was repaired or deleted. "+
		"Check the disk (dmesg, smartctl). If the pool has other servers, remove this host with `pinion hosts rm --force` and join it anew with an empty --data-dir; if it has none, put back a backup of this directory", where, d.What)
}

// The two buckets of raft-boltdb.
var logBucket, valueBucket = []byte("logs"), []byte("conf")

// verify reads the whole file without changing it: every page, every stable value, every log record, and that
// the log has no gap. A file that is not there is fine.
func verify(path string) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := verifyPages(path); err != nil {
		return err
	}
	if err := readOnly(path, func(o *bbolt.Options) error { return verifyTree(path, o) }); err != nil {
		return err
	}
	return readOnly(path, func(o *bbolt.Options) error { return verifyLog(path, o) })
}

// readOnly runs read with options that open the file read-only. Damaged pages make bolt panic or touch memory that is
// not mapped; both become *Damage.
func readOnly(path string, read func(*bbolt.Options) error) (err error) {
	var file *os.File
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			file.Close()
			err = &Damage{Path: path, What: fmt.Sprint(r)}
		}
	}()
	err = read(&bbolt.Options{Timeout: lockTimeout, ReadOnly: true, OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
		file, err = os.OpenFile(name, flag, mode)
		return file, err
	}})
	var damage *Damage
	switch {
	case err == nil || errors.As(err, &damage):
		return err
	case errors.Is(err, bolterrors.ErrTimeout):
		return fmt.Errorf("%s: %w", path, ErrLocked)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("read the log: %w", err)
	}
	return &Damage{Path: path, What: err.Error()}
}

// verifyTree walks both buckets: stable values must have a valid checksum, log keys must be consecutive.
func verifyTree(path string, o *bbolt.Options) error {
	db, err := bbolt.Open(path, 0, o)
	if err != nil {
		return err
	}
	defer db.Close()
	return db.View(func(tx *bbolt.Tx) error {
		values, logs := tx.Bucket(valueBucket), tx.Bucket(logBucket)
		if values == nil || logs == nil {
			return &Damage{Path: path, What: "a bucket is missing"}
		}
		err := values.ForEach(func(k, v []byte) error {
			if _, ok := verifyValueChecksum(k, v); !ok {
				return &Damage{Path: path, What: fmt.Sprintf("stable value %q has a wrong checksum", k)}
			}
			return nil
		})
		if err != nil {
			return err
		}
		var next []byte
		return logs.ForEach(func(k, _ []byte) error {
			if len(k) != 8 || next != nil && !bytes.Equal(k, next) {
				return &Damage{Path: path, What: fmt.Sprintf("log record %x stands where %x belongs", k, next)}
			}
			next = binary.BigEndian.AppendUint64(nil, binary.BigEndian.Uint64(k)+1)
			return nil
		})
	})
}

// verifyLog reads every log record.
func verifyLog(path string, o *bbolt.Options) error {
	bolt, err := raftboltdb.New(raftboltdb.Options{Path: path, BoltOptions: o})
	if err != nil {
		return err
	}
	defer bolt.Close()
	s := newStore(bolt, Options{Path: path})
	first, err := s.FirstIndex()
	if err != nil {
		return err
	}
	last, err := s.LastIndex()
	if err != nil {
		return err
	}
	for index := max(first, 1); index <= last; index++ {
		if err := s.GetLog(index, new(raft.Log)); err != nil {
			return err
		}
	}
	return nil
}
