# A service whose tasks have addresses of their own, as a service of Fargate has them.
resource "aws_ecs_task_definition" "networked" {
  family       = "terraform-networked"
  network_mode = "awsvpc"
  container_definitions = jsonencode([{
    name         = "web", image = "pinion/self", memory = 64, essential = true, command = ["/pinion", "hello"]
    portMappings = [{ containerPort = 8080, hostPort = 8080, protocol = "tcp" }]
  }])
}

resource "aws_ecs_service" "networked" {
  name                  = "terraform-networked"
  cluster               = "default"
  task_definition       = aws_ecs_task_definition.networked.arn
  desired_count         = 1
  wait_for_steady_state = true
  tags                  = { team = var.team, "pinion.healthy-after" = "1s" }

  network_configuration {
    subnets          = ["subnet-lab"]
    assign_public_ip = false
  }
}
