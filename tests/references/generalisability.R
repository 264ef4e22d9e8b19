# Variance components of three crossed factors by R, frozen in generalisability.json.
# R 4.2.2, lme4 1.1-31, jsonlite 1.8.4. Run here: Rscript generalisability.R
# The scores are made by a Park-Miller generator, which Python makes again to the digit.
library(lme4)
library(jsonlite)

state <- 20260101
uniform <- function() {
  state <<- (16807 * state) %% 2147483647
  state / 2147483647
}
bell <- function(n) replicate(n, sum(replicate(4, uniform())) - 2) * sqrt(3)

scores <- function(n, judges, orders) {
  item <- bell(n); judge <- bell(judges); order <- bell(orders)
  item_judge <- matrix(bell(n * judges), n, judges, byrow = TRUE)
  item_order <- matrix(bell(n * orders), n, orders, byrow = TRUE)
  judge_order <- matrix(bell(judges * orders), judges, orders, byrow = TRUE)
  rows <- list()
  for (i in 1:n) for (j in 1:judges) for (o in 1:orders) {
    y <- item[i] + 0.5 * judge[j] + 0.4 * order[o] + 0.5 * item_judge[i, j] +
      0.4 * item_order[i, o] + 0.3 * judge_order[j, o] + 0.5 * bell(1)
    rows[[length(rows) + 1]] <- data.frame(item = i, judge = j, order = o, y = y)
  }
  whole <- do.call(rbind, rows)
  for (f in c("item", "judge", "order")) whole[[f]] <- factor(whole[[f]])
  whole
}

by_aov <- function(d) {
  n <- nlevels(d$item); J <- nlevels(d$judge); O <- nlevels(d$order)
  table <- summary(aov(y ~ item * judge * order, d))[[1]]
  ms <- table[["Mean Sq"]]
  names(ms) <- trimws(rownames(table))
  all3 <- ms[["item:judge:order"]]
  list(
    item = (ms[["item"]] - ms[["item:judge"]] - ms[["item:order"]] + all3) / (J * O),
    judge = (ms[["judge"]] - ms[["item:judge"]] - ms[["judge:order"]] + all3) / (n * O),
    order = (ms[["order"]] - ms[["item:order"]] - ms[["judge:order"]] + all3) / (n * J),
    item_judge = (ms[["item:judge"]] - all3) / O,
    item_order = (ms[["item:order"]] - all3) / J,
    judge_order = (ms[["judge:order"]] - all3) / n,
    rest = all3
  )
}

by_lmer <- function(d) {
  fit <- lmer(
    y ~ 1 + (1 | item) + (1 | judge) + (1 | order) + (1 | item:judge) + (1 | item:order) + (1 | judge:order), d
  )
  v <- as.data.frame(VarCorr(fit))
  found <- setNames(as.list(v$vcov), v$grp)
  list(
    item = found[["item"]], judge = found[["judge"]], order = found[["order"]],
    item_judge = found[["item:judge"]], item_order = found[["item:order"]],
    judge_order = found[["judge:order"]], rest = found[["Residual"]]
  )
}

whole <- scores(60, 6, 6)
place <- seq_len(nrow(whole)) - 1
missing <- whole[(place * 7 + place %/% 11) %% 6 != 0, ]
write_json(
  list(
    versions = list(R = as.character(getRversion()), lme4 = as.character(packageVersion("lme4"))),
    complete = list(sum = sum(whole$y), aov = by_aov(whole), lmer = by_lmer(whole)),
    missing = list(n = nrow(missing), lmer = by_lmer(missing))
  ),
  "generalisability.json", auto_unbox = TRUE, digits = 12, pretty = TRUE
)
