package gpu

// Slowdown is why the hardware of a device holds its clocks down, whatever its program asks for. A power limit that a driver keeps is none: that is how
// GPUs work under full load.
type Slowdown string

// The reasons.
const (
	SlowThermal Slowdown = "thermal"     // it is too hot
	SlowPower   Slowdown = "power-brake" // the power supply of its machine cannot give more
)

// Slowdowns are all reasons.
func Slowdowns() []Slowdown { return []Slowdown{SlowThermal, SlowPower} }

// Text is the reason and what to do, for people.
func (s Slowdown) Text() string {
	switch s {
	case SlowThermal:
		return "it is too hot: see to the fans and the air of its machine; `nvidia-smi -q -d PERFORMANCE,TEMPERATURE` says more"
	case SlowPower:
		return "its machine does not give it enough power (power brake): see to the power supplies and the limits of the rack; `nvidia-smi -q -d PERFORMANCE,POWER` says more"
	}
	return ""
}
