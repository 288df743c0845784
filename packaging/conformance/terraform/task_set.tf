# A service whose deployments are task sets. Another definition is another task set.

resource "aws_ecs_task_definition" "set" {
  family       = "terraform-set"
  network_mode = "bridge"

  container_definitions = jsonencode([{
    name         = "web"
    image        = "pinion/self"
    memory       = 32
    essential    = true
    command      = ["/pinion", "pause"]
    portMappings = [{ containerPort = 8000 }]
  }])
}

resource "aws_ecs_service" "sets" {
  name                              = "terraform-sets"
  cluster                           = "default"
  desired_count                     = var.team == "vision" ? 2 : 3
  health_check_grace_period_seconds = var.team == "vision" ? 5 : 6
  tags                              = { team = var.team }

  deployment_controller {
    type = "EXTERNAL"
  }
}

resource "aws_ecs_task_set" "blue" {
  cluster           = "default"
  service           = aws_ecs_service.sets.id
  task_definition   = aws_ecs_task_definition.set.arn
  external_id       = "blue"
  wait_until_stable = true
  force_delete      = true
  tags              = { team = var.team }

  scale {
    value = var.team == "vision" ? 50 : 33.4
  }
}
