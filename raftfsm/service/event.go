package service

import "time"

// Event is something that happened to a service, in ECS's words where ECS has some.
type Event struct {
	ID      string    `json:"id"` // UUID
	At      time.Time `json:"at"`
	Message string    `json:"message"`
}

// AddEvents adds events to those of the service, of which the newest stay.
func (s *Service) AddEvents(events ...Event) {
	all := append(append([]Event(nil), s.Events...), events...)
	s.Events = all[max(0, len(all)-MaxEvents):]
}
