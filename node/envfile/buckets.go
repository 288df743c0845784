// Package envfile gives containers the variables of their environmentFiles, from directories of this host that `pinion up --bucket` names.
package envfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"pinion/raftfsm/envfile"
)

const (
	// readTimeout bounds the wait for the files of a container: a bucket may be on a file system of the network.
	readTimeout = 30 * time.Second
	// maxReads bounds the files of one bucket that are read at a time, with those that do not answer: other buckets do not wait for it.
	maxReads = 16
)

// Buckets are the directories of this host, by the names of the buckets that they are.
type Buckets struct {
	host    string // its name, for errors
	dirs    map[string]string
	reading map[string]chan struct{} // by bucket, one place for each file that is read
}

// Open checks the directories. An error names the option that is wrong.
func Open(hostName string, dirs map[string]string) (*Buckets, error) {
	reading := map[string]chan struct{}{}
	for name, dir := range dirs {
		reading[name] = make(chan struct{}, maxReads)
		info, err := os.Stat(dir)
		if err == nil && !info.IsDir() {
			err = errors.New("it is no directory")
		}
		if err != nil {
			return nil, fmt.Errorf("--bucket %s=%s: %w", name, dir, err)
		}
	}
	return &Buckets{host: hostName, dirs: dirs, reading: reading}, nil
}

// Variables are the variables of the files: of a name that several have, the value of the first file counts.
func (b *Buckets) Variables(ctx context.Context, files []envfile.File) (all []envfile.Variable, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, readTimeout, fmt.Errorf("the bucket does not answer within %v", readTimeout))
	defer cancel()
	known := map[string]bool{}
	left := envfile.MaxSize
	for _, f := range files {
		text, err := b.read(ctx, f, left)
		var variables []envfile.Variable
		if err == nil {
			left -= len(text)
			variables, err = envfile.Variables(text)
		}
		if err != nil {
			return nil, fmt.Errorf("environment file %s of host %s: %w", f.Value, b.host, err)
		}
		for _, v := range variables {
			if !known[v.Name] {
				known[v.Name] = true
				all = append(all, v)
			}
		}
	}
	return all, nil
}

// read reads a file of at most so many bytes, and gives up waiting for it when ctx ends.
func (b *Buckets) read(ctx context.Context, f envfile.File, most int) ([]byte, error) {
	bucket, key, err := f.Parse()
	if err != nil {
		return nil, err
	}
	dir, given := b.dirs[bucket]
	if !given {
		return nil, fmt.Errorf("the host has no bucket %s: start it with pinion up --bucket %s=DIR", bucket, bucket)
	}
	type result struct {
		text []byte
		err  error
	}
	done := make(chan result, 1)
	select {
	case b.reading[bucket] <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	go func() {
		defer func() { <-b.reading[bucket] }()
		text, err := readBelow(dir, key, most)
		done <- result{text, err}
	}()
	select {
	case r := <-done:
		return r.text, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// readBelow reads a regular file below a directory, that no link leads out of.
func readBelow(dir, key string, most int) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := checkRegular(root.Stat(key)); err != nil { // to open a device does something already
		return nil, err
	}
	file, err := root.OpenFile(key, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe is not waited for
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if err := checkRegular(file.Stat()); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, int64(most)+1))
	if err == nil && len(text) > most {
		err = fmt.Errorf("the environment files of a container have at most %d bytes together", envfile.MaxSize)
	}
	return text, err
}

func checkRegular(info os.FileInfo, err error) error {
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no regular file")
	}
	return err
}
