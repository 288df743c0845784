package task

// environmentHook gives containers the variables of their definition. The last value of a name wins.
type environmentHook struct{}

var _ SpecHook = environmentHook{}

func (environmentHook) Name() string { return "environment" }

func (environmentHook) BuildSpec(s *Start) error {
	for _, v := range s.Spec.Def.Environment {
		s.SetEnv(v.Name, v.Value)
	}
	return nil
}
