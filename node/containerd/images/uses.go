package images

import (
	"maps"
	"sync"
	"time"
)

// uses holds the last use of images by digest. Prune bounds it to the images that are here.
type uses struct {
	mu    sync.Mutex
	last  map[string]time.Time
	dirty map[string]bool // not yet recorded in the image's label
}

func newUses() *uses { return &uses{last: map[string]time.Time{}, dirty: map[string]bool{}} }

// touch notes a use now.
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

// since is the digests of the images that were used after a moment.
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

// retain drops what is known of other images.
func (u *uses) retain(groups []*imageGroup) {
	here := map[string]bool{}
	for _, group := range groups {
		here[group.digest] = true
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	cutoff := time.Now().Add(-minUnused) // an image that is just being pulled is not in the list yet
	maps.DeleteFunc(u.last, func(digest string, at time.Time) bool { return !here[digest] && at.Before(cutoff) })
	maps.DeleteFunc(u.dirty, func(digest string, _ bool) bool { return u.last[digest].IsZero() })
}

func (u *uses) forget(digest string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.last, digest)
	delete(u.dirty, digest)
}
