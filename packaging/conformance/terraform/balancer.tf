# A load balancer with a target group for the service, a listener and a rule.

resource "aws_lb" "front" {
  name               = "terraform-front"
  load_balancer_type = "application"
  internal           = true
  subnets            = ["subnet-1", "subnet-2"]
  security_groups    = ["sg-1"]
  idle_timeout       = var.team == "vision" ? 60 : 600
  tags               = { team = var.team }
}

resource "aws_lb_target_group" "web" {
  name                          = "terraform-web"
  port                          = 8000
  protocol                      = "HTTP"
  vpc_id                        = "vpc-1"
  deregistration_delay          = var.team == "vision" ? 5 : 0
  slow_start                    = 30
  load_balancing_algorithm_type = "least_outstanding_requests"
  tags                          = { team = var.team, "pinion.affinity" = "header:X-Session" }

  # The program of the service answers nobody.
  health_check {
    enabled = false
    path    = var.team == "vision" ? "/" : "/health"
    matcher = "200-299"
  }
}

resource "aws_lb_listener" "http" {
  load_balancer_arn = aws_lb.front.arn
  port              = var.team == "vision" ? 18080 : 18081
  protocol          = "HTTP"
  tags              = { team = var.team }

  default_action {
    type             = "forward"
    target_group_arn = aws_lb_target_group.web.arn
  }
}

resource "aws_lb_listener_rule" "old" {
  listener_arn = aws_lb_listener.http.arn
  priority     = var.team == "vision" ? 10 : 20

  action {
    type = "redirect"

    redirect {
      path        = "/new"
      status_code = "HTTP_301"
    }
  }

  condition {
    path_pattern {
      values = ["/old/*"]
    }
  }

  condition {
    host_header {
      values = ["*.example.org"]
    }
  }
}

resource "aws_lb_listener_rule" "closed" {
  listener_arn = aws_lb_listener.http.arn
  priority     = 30

  action {
    type = "fixed-response"

    fixed_response {
      content_type = "text/plain"
      message_body = var.team == "vision" ? "closed" : "gone"
      status_code  = "404"
    }
  }

  condition {
    query_string {
      key   = "closed"
      value = "yes"
    }
  }

  condition {
    http_header {
      http_header_name = "X-Closed"
      values           = ["*"]
    }
  }
}
