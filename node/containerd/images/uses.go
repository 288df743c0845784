package images

import (
	"maps"
	"sync"
	"time"
)

// uses holds the last use of images by digest. Prune limits it to local images.
type uses struct {
	mu    sync.Mutex
	last  map[string]time.Time
	dirty map[string]bool // not yet recorded in the image's label
}

func newUses() *uses { return &uses{last: map[string]time.Time{}, dirty: map[string]bool{}} }

// touch records a use at the present time.
func (u *uses) touch(digest string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.last[digest] = time.Now()
	u.dirty[digest] = true
}

func (u *uses) usedSince(digest string, since time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.last[digest].After(since)
}

// since returns the digests of the images that were used after a time.
func (u *uses) since(moment time.Time) map[string]bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	recent := map[string]bool{}
	for digest, at := range u.last {
		if at.After(moment) {
			recent[digest] = true
		}
	}
	return recent
}

// unrecorded returns the uses since its last call.
func (u *uses) unrecorded() map[string]time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := map[string]time.Time{}
	for digest := range u.dirty {
		all[digest] = u.last[digest]
	}
	clear(u.dirty)
	return all
}

// retain deletes the uses of all other images.
func (u *uses) retain(groups []*imageGroup) {
	here := map[string]bool{}
	for _, group := range groups {
		here[group.digest] = true
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	cutoff := time.Now().Add(-minUnused) // the list does not have an image that is just being pulled
	maps.DeleteFunc(u.last, func(digest string, at time.Time) bool { return !here[digest] && at.Before(cutoff) })
	maps.DeleteFunc(u.dirty, func(digest string, _ bool) bool { return u.last[digest].IsZero() })
}

func (u *uses) forget(digest string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.last, digest)
	delete(u.dirty, digest)
}
