# Writes the results of R on synthetic runs, for the tests of `diff::stats`:
#
#     Rscript limma.R        (here; needs limma and statmod)
#
# Written with R 4.2.2, limma 3.54.1, statmod 1.5.0.
suppressMessages(library(limma))
set.seed(20240229)

n <- 160
runs <- 7
intensity <- runif(n, 5, 16)
# Rare functions are noisier, and a few are far noisier than their neighbors.
sd <- exp(rnorm(n, log(0.25) - 0.12 * intensity, 0.35))
sd[1:6] <- sd[1:6] * 12
change <- numeric(n)
change[7:26] <- rep(c(0.2, -0.2), 10)
level <- rnorm(n, 10, 2)
before <- matrix(rnorm(n * runs, level, sd), n)
after <- matrix(rnorm(n * runs, level + change, sd), n)
# A function that is absent in some runs has fewer degrees of freedom.
before[31, 2] <- NA
after[31, 5] <- NA
after[32, c(1, 4)] <- NA
before[33, 1:4] <- NA
before <- round(before, 9)
after <- round(after, 9)
intensity <- round(intensity, 9)

save <- function(table, file) {
  table[] <- lapply(table, function(column) {
    if (is.numeric(column)) sprintf("%.16g", column) else column
  })
  write.csv(table, file, row.names = FALSE, quote = FALSE)
}
save(data.frame(intensity, before = before, after = after), "input.csv")

design <- cbind(level = 1, change = rep(0:1, each = runs))
fit <- lmFit(cbind(before, after), design)
fit$Amean <- intensity
moderated <- NULL
for (trend in c(FALSE, TRUE)) for (robust in c(FALSE, TRUE)) {
  e <- eBayes(fit, trend = trend, robust = robust)
  m <- treat(fit, lfc = log2(1.05), trend = trend, robust = robust)
  p <- e$p.value[, 2]
  moderated <- rbind(moderated, data.frame(
    trend, robust,
    df = fit$df.residual, variance = fit$sigma^2,
    d0 = e$df.prior, s2.prior = e$s2.prior, s2.post = e$s2.post,
    estimate = e$coefficients[, 2], t = e$t[, 2], df.total = e$df.total, p = p,
    bh = p.adjust(p, "BH"), by = p.adjust(p, "BY"), treat = m$p.value[, 2]
  ))
}
save(moderated, "moderated.csv")

ranks <- NULL
for (i in 1:60) {
  a <- after[i, !is.na(after[i, ])]
  b <- before[i, !is.na(before[i, ])]
  w <- wilcox.test(a, b, conf.int = TRUE, exact = TRUE)
  both <- !is.na(after[i, ]) & !is.na(before[i, ])
  s <- wilcox.test(after[i, both], before[i, both], paired = TRUE, conf.int = TRUE, exact = TRUE)
  ranks <- rbind(ranks, data.frame(
    row = i - 1, p = w$p.value, shift = w$estimate, low = w$conf.int[1], high = w$conf.int[2],
    paired.p = s$p.value, paired.shift = s$estimate,
    paired.low = s$conf.int[1], paired.high = s$conf.int[2]
  ))
}
save(ranks, "ranks.csv")

special <- NULL
add <- function(name, a, b, c, value) {
  special <<- rbind(special, data.frame(name, a, b, c, value))
}
for (x in c(0.01, 0.3, 1, 1.5, 2, 7.7, 40, 1e4)) {
  add("ln_gamma", x, 0, 0, lgamma(x))
  add("digamma", x, 0, 0, digamma(x))
  add("trigamma", x, 0, 0, trigamma(x))
  add("trigamma_inverse", x, 0, 0, trigammaInverse(x))
}
for (df in c(0.7, 1, 2.5, 8, 31.4, 1000, 1e7, Inf)) {
  for (t in c(-3, -0.2, 0, 1e-5, 0.5, 2.1, 9, 60)) add("t_upper", t, df, 0, pt(t, df, lower.tail = FALSE))
  for (p in c(1e-30, 1e-6, 0.0013, 0.025, 0.3, 0.5, 0.8)) {
    # R gives up far out in the tail of few degrees of freedom; its own pt says so.
    t <- qt(p, df, lower.tail = FALSE)
    if (abs(pt(t, df, lower.tail = FALSE) / p - 1) < 1e-11) add("t_quantile", p, df, 0, t)
  }
}
for (df1 in c(1, 2, 9, 60)) for (df2 in c(0.4, 3, 11, 5000, Inf)) {
  for (x in c(1e-4, 0.3, 1, 4, 90)) {
    add("f_lower", x, df1, df2, pf(x, df1, df2))
    add("f_upper", x, df1, df2, pf(x, df1, df2, lower.tail = FALSE))
    add("f_density", x, df1, df2, df(x, df1, df2))
  }
  for (p in c(0.05, 0.9)) {
    x <- qf(p, df1, df2)
    if (abs(pf(x, df1, df2) / p - 1) < 1e-12) add("f_quantile", p, df1, df2, x)
  }
}
save(special, "special.csv")

x <- c(sort(round(runif(80, 0, 30), 3)), 30, 30, 30)
y <- round(sin(x / 4) + rnorm(length(x), 0, 0.4), 6)
y[c(9, 50)] <- c(6, -5)
basis <- splines::ns(x, df = 4, intercept = TRUE)
smooth <- data.frame(
  x, y,
  lowess = lowess(x, y, f = 0.4, iter = 3)$y,
  spline = lm.fit(basis, y)$fitted.values
)
save(smooth, "smooth.csv")
