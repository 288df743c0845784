package raftfsm

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"pinion/raftfsm/spec"
)

func TestAWaitForAnIndexEndsWithTheChangeItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewState()
		create := func(index uint64, name string) {
			if _, err := s.Apply(index, CreateCluster{Cluster: spec.Cluster{Name: name, Status: spec.ClusterActive}}); err != nil {
				t.Error(err)
			}
		}
		go func() {
			time.Sleep(time.Second)
			create(4, "a")
			time.Sleep(time.Second)
			create(5, "b")
		}()
		began := time.Now()
		if err := s.WaitForIndex(t.Context(), 5); err != nil || time.Since(began) != 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if err := s.WaitForIndex(t.Context(), 5); err != nil || time.Since(began) != 2*time.Second {
			t.Errorf("an index that is there: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.WaitForIndex(ctx, 6); err != context.DeadlineExceeded {
			t.Errorf("an index that never comes: %v", err)
		}
	})
}
