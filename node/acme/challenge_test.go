package acme

import (
	"crypto/tls"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// However many strangers ask as a CA does, the pool is asked a few times, and each of them is answered by what was there when it had asked.
func TestWhoAsksForChallengesAsksThePoolSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const clients, names = 10_000, 2
		var mu sync.Mutex
		found, there := 0, false
		a := &answers{find: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			mu.Lock()
			defer mu.Unlock()
			found++
			if there {
				return &tls.Certificate{}, nil
			}
			return nil, nil
		}}
		var asked sync.WaitGroup
		for i := range clients {
			asked.Go(func() {
				time.Sleep(time.Duration(i) * time.Second / clients)
				_, _ = a.answer(&tls.ClientHelloInfo{ServerName: []string{"a", "b"}[i%names]})
			})
			if i == clients/2 { // amid the flood the answer is recorded, and the CA asks for it at once
				asked.Go(func() {
					time.Sleep(time.Second / 2)
					mu.Lock()
					there = true
					mu.Unlock()
					if answer, err := a.answer(&tls.ClientHelloInfo{ServerName: "a"}); answer == nil {
						t.Errorf("the CA gets what was before: %v", err)
					}
				})
			}
		}
		asked.Wait()
		if most := names * (int(time.Second/lookupInterval) + 2); found > most {
			t.Errorf("the pool was asked %d times in a second, at most %d are needed", found, most)
		}
	})
}
